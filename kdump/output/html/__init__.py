"""A report as one page of HTML that needs nothing else: tables and drawings made here, charts by uPlot, which is inlined."""

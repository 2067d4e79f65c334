"""A row class declares a schema; a table holds such rows as columns.

The annotations of a row class are the types of its columns, and its docstring documents them. Its field names in Kafka's camel
case are the keys of every output. All formats of `output/rows` and `output/arrow` follow from the schema alone.
"""

from __future__ import annotations

from itertools import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import Any, ClassVar, Generic, Self, TypeVar, dataclass_transform

    RowType = TypeVar("RowType", bound="Row", covariant=True)
else:  # the plain tool starts without the module `typing`

    class Generic:
        """Stands for typing.Generic where nothing checks types."""

        def __class_getitem__(cls, _parameters: object) -> type:
            return cls

    RowType = None

    def dataclass_transform(**_: object) -> object:
        """Stands for typing.dataclass_transform, which is for type checkers only."""
        return lambda row_class: row_class


# The types of columns, by the names that row classes use. Outputs that have types (JSON Schema, Arrow) map these names. A column
# may also be a list of these types, such as `list[Text]`.
Bool = bool
Int8 = int
Int16 = int
Int32 = int
Int64 = int
UInt32 = int
Float64 = float
Text = str
Binary = bytes
Pair = list[int]  # of two numbers


@dataclass_transform()
class Declared:
    """What has the fields that its class declares. The constructor takes their values in that order, or by name.

    What stands after `=` is a field's default. Raises TypeError unless each field without one is given, and no others.
    """

    field_names: ClassVar[tuple[str, ...]] = ()
    _required: ClassVar[frozenset[str]] = frozenset()
    _known: ClassVar[frozenset[str]] = frozenset()
    _least: ClassVar[int] = 0  # how many values give at least all that are required

    def __init_subclass__(cls) -> None:
        cls.field_names = (*cls.field_names, *cls.__annotations__)
        cls._required = frozenset(name for name in cls.field_names if not hasattr(cls, name))
        cls._known = frozenset(cls.field_names)
        cls._least = max((row for row, name in enumerate(cls.field_names, 1) if name in cls._required), default=0)

    def __init__(self, *values: object, **named: object) -> None:
        given = self.__dict__
        given.update(zip(self.field_names, values, strict=False), **named)
        if not named and self._least <= len(values) <= len(self.field_names):
            return
        if len(given) != len(values) + len(named) or not self._required <= given.keys() <= self._known:
            raise TypeError(f"{type(self).__name__} takes {', '.join(self.field_names)}, but got {', '.join(given)}")


class Column:
    """One column of a schema: `name` is ours (snake case), `key` is Kafka's (camel case).

    `about` is what JSON Schemas have of it: a `description`, and the values of an `enum`.
    """

    def __init__(self, name: str, annotation: str, about: dict[str, object]) -> None:
        self.name = name
        self.about = about
        self.key = camel_case(name)
        self.type = annotation.removesuffix(" | None")
        self.is_nullable = self.type != annotation

    def nullable(self) -> Column:
        """The same column where any row may lack it."""
        return Column(self.name, f"{self.type} | None", self.about)


def column(description: str, values: Sequence[str] = ()) -> Any:  # stands where a type checker sees a default
    """What a column says, for schemas, and the values that a text may have, if there are few."""
    return {"enum": list(values), "description": description} if values else {"description": description}


@dataclass_transform(field_specifiers=(column,))
class Row:
    """One row of a table. Subclasses only declare fields: the constructor takes their values in that order, or by name.

    `class Finding(Row, kind="finding")` also says what a row is called in outputs that hold rows of several classes.
    Rows are equal if they are of one class and have the same values.
    """

    schema: ClassVar[tuple[Column, ...]] = ()
    column_names: ClassVar[tuple[str, ...]] = ()
    row_kind: ClassVar[str] = ""
    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]  # equal by values that may change

    def __init_subclass__(cls, *, kind: str = "") -> None:
        cls.row_kind = kind
        for name, annotation in cls.__annotations__.items():  # after those of the class it extends
            about = cls.__dict__.get(name, {})
            cls.schema += (Column(name, str(annotation), about),)
            if about:
                delattr(cls, name)
        cls.column_names = tuple(column.name for column in cls.schema)

    def __init__(self, *values: object, **named: object) -> None:
        schema = self.schema
        if len(values) != len(schema):
            values += self._named(schema[len(values) :], named, len(values))
        elif named:
            raise TypeError(f"{type(self).__name__} has {len(schema)} values, and {', '.join(named)} twice")
        self.__dict__.update(zip(self.column_names, values, strict=True))

    def _named(self, missing: Sequence[Column], named: dict[str, object], given: int) -> tuple[object, ...]:
        """The values of the columns that were not given by place. Raises TypeError unless all are there, and no others."""
        names = [column.name for column in missing]
        if not missing or set(names) != set(named):
            wanted = ", ".join(names) or "no more"
            raise TypeError(f"{type(self).__name__} has {len(self.schema)} values: after the first {given} come {wanted}")
        return tuple(named[name] for name in names)

    @classmethod
    def partial(cls, *values: object) -> Self:
        """A row of which only the first values are known; the others are no attributes."""
        row = cls.__new__(cls)
        for column, value in zip(cls.schema, values, strict=False):
            setattr(row, column.name, value)
        return row

    @classmethod
    def like(cls, other: object, **others: object) -> Self:
        """The row whose columns are attributes of something else, but for the `others`."""
        return cls(**{name: others[name] if name in others else getattr(other, name) for name in cls.column_names})

    @classmethod
    def of_values(cls, values: dict[str, Any]) -> Self:
        """The row that has these values, of each column or of the first ones; it keeps the dictionary."""
        row = cls.__new__(cls)
        row.__dict__ = values  # type: ignore[misc]  # every subclass has one
        return row

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        missing = object()
        return all(getattr(self, c.name, missing) == getattr(other, c.name, missing) for c in self.schema)

    def __repr__(self) -> str:
        fields = ", ".join(f"{c.name}={getattr(self, c.name)!r}" for c in self.schema if hasattr(self, c.name))
        return f"{type(self).__name__}({fields})"


class Table(Generic[RowType]):
    """Rows of one class as columns of equal length, in the order of the schema."""

    __slots__ = ("columns", "row_class")

    def __init__(self, row_class: type[RowType], columns: Mapping[str, Sequence[Any]]) -> None:
        self.row_class = row_class
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[self.row_class.schema[0].name])

    def __iter__(self) -> Iterator[RowType]:
        for values in zip(*(self.columns[column.name] for column in self.row_class.schema), strict=True):
            yield self.row_class(*values)

    def __getitem__(self, name: str) -> Sequence[Any]:
        """The column of this name."""
        return self.columns[name]

    def row(self, row: int) -> RowType:
        """The row at this place, counted from 0."""
        return self.row_class.of_values({name: values[row] for name, values in self.columns.items()})

    def slice(self, start: int, end: int) -> Table[RowType]:
        """The rows from `start` up to but not including `end`."""
        if start == 0 and end == len(self):
            return self
        return Table(self.row_class, {name: values[start:end] for name, values in self.columns.items()})

    def picked(self, rows: Sequence[int]) -> Table[RowType]:
        """The rows at these places."""
        return Table(self.row_class, {name: [column[row] for row in rows] for name, column in self.columns.items()})

    @classmethod
    def joined(cls, tables: Sequence[Table[RowType]]) -> Table[RowType]:
        """The rows of several tables, one or more, of one class."""
        names = tables[0].columns
        columns = {name: list(chain.from_iterable([table.columns[name] for table in tables])) for name in names}
        return cls(tables[0].row_class, columns)

    @classmethod
    def of_rows(cls, row_class: type[RowType], rows: Iterable[RowType]) -> Table[RowType]:
        """A table of these rows, which are all of this class."""
        names = [column.name for column in row_class.schema]
        return cls.of(row_class, [[getattr(row, name) for name in names] for row in rows])

    @classmethod
    def of(cls, row_class: type[RowType], rows: Sequence[Sequence[Any]]) -> Table[RowType]:
        """A table of rows given as sequences of values in the order of the schema."""
        names = [column.name for column in row_class.schema]
        columns = zip(*rows, strict=True) if rows else [()] * len(names)
        return cls(row_class, dict(zip(names, columns, strict=True)))


def camel_case(name: str) -> str:
    """Kafka's spelling of one of our names: `base_offset` is `baseOffset`."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)

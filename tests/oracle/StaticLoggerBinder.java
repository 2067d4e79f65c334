package org.slf4j.impl;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.helpers.MarkerIgnoringBase;
import org.slf4j.helpers.MessageFormatter;
import org.slf4j.spi.LoggerFactoryBinder;

/** Keeps what Kafka logs, for LogStarts to read. */
public final class StaticLoggerBinder implements LoggerFactoryBinder {
    public static final List<String> LINES = Collections.synchronizedList(new ArrayList<>());
    public static String REQUESTED_API_VERSION = "1.7";
    private static final StaticLoggerBinder SINGLETON = new StaticLoggerBinder();

    public static StaticLoggerBinder getSingleton() {
        return SINGLETON;
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return name -> new Keeper(name);
    }

    @Override
    public String getLoggerFactoryClassStr() {
        return Keeper.class.getName();
    }

    private static final class Keeper extends MarkerIgnoringBase implements Logger {
        Keeper(String name) {
            this.name = name;
        }

        private static void keep(String format, Object... values) {
            LINES.add(String.valueOf(MessageFormatter.arrayFormat(format, values).getMessage()));
        }

        @Override public boolean isTraceEnabled() { return false; }
        @Override public void trace(String message) { }
        @Override public void trace(String format, Object value) { }
        @Override public void trace(String format, Object first, Object second) { }
        @Override public void trace(String format, Object... values) { }
        @Override public void trace(String message, Throwable error) { }
        @Override public boolean isDebugEnabled() { return false; }
        @Override public void debug(String message) { }
        @Override public void debug(String format, Object value) { }
        @Override public void debug(String format, Object first, Object second) { }
        @Override public void debug(String format, Object... values) { }
        @Override public void debug(String message, Throwable error) { }
        @Override public boolean isInfoEnabled() { return true; }
        @Override public void info(String message) { keep(message); }
        @Override public void info(String format, Object value) { keep(format, value); }
        @Override public void info(String format, Object first, Object second) { keep(format, first, second); }
        @Override public void info(String format, Object... values) { keep(format, values); }
        @Override public void info(String message, Throwable error) { keep(message); }
        @Override public boolean isWarnEnabled() { return true; }
        @Override public void warn(String message) { keep(message); }
        @Override public void warn(String format, Object value) { keep(format, value); }
        @Override public void warn(String format, Object first, Object second) { keep(format, first, second); }
        @Override public void warn(String format, Object... values) { keep(format, values); }
        @Override public void warn(String message, Throwable error) { keep(message); }
        @Override public boolean isErrorEnabled() { return true; }
        @Override public void error(String message) { keep(message); }
        @Override public void error(String format, Object value) { keep(format, value); }
        @Override public void error(String format, Object first, Object second) { keep(format, first, second); }
        @Override public void error(String format, Object... values) { keep(format, values); }
        @Override public void error(String message, Throwable error) { keep(message); }
    }
}

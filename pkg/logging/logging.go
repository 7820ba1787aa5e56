// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package logging writes the log of every binary in the same form: a line of JSON with ts, level and msg, or text.
package logging

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// Names of the formats.
const (
	JSON = "json"
	Text = "text"
)

// New returns a logger that writes lines of one format from a level on. Verbosity n of logr and klog is level -n.
func New(out io.Writer, format string, level slog.Leveler) logr.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: replace}
	if format == Text {
		return logr.FromSlogHandler(slog.NewTextHandler(out, options))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(out, options))
}

// Verbosity returns the level that shows lines up to that verbosity.
func Verbosity(v int) slog.Level { return slog.Level(-v) }

// Install makes a logger that of klog, of log/slog and of log, which libraries write to, and returns it. They keep theirs
// in global variables, so it is called once per process, before anything else runs.
func Install(logger logr.Logger) logr.Logger {
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
	slog.SetDefault(slog.New(logr.ToSlogHandler(logger)))
	return logger
}

// replace calls the time ts, as Kubernetes' binaries do, and shows every verbosity as DEBUG; slog would make DEBUG+3 of
// verbosity 1.
func replace(groups []string, attr slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return attr
	}
	if level, ok := attr.Value.Any().(slog.Level); ok && level < slog.LevelInfo {
		attr.Value = slog.StringValue(slog.LevelDebug.String())
	}
	if attr.Key == slog.TimeKey && attr.Value.Kind() == slog.KindTime {
		attr.Key = "ts"
	}
	return attr
}

// Format is the value of the flag --logging-format, for binaries whose log is klog's: text by default, or json.
type Format struct{ json bool }

// AddFlag adds the flag.
func (f *Format) AddFlag(flags *pflag.FlagSet) {
	flags.Var(f, "logging-format", "form of the log: text, or json, a line with ts, level and msg for each message")
}

// Set implements pflag.Value.
func (f *Format) Set(format string) error {
	switch format {
	case Text, JSON:
		f.json = format == JSON
		return nil
	}
	return fmt.Errorf("must be %s or %s", Text, JSON)
}

// String implements pflag.Value.
func (f *Format) String() string {
	if f.json {
		return JSON
	}
	return Text
}

// Type implements pflag.Value.
func (*Format) Type() string { return "string" }

// Install makes klog, log/slog and log write lines of JSON. Text leaves klog unchanged.
func (f *Format) Install(out io.Writer) {
	if f.json {
		Install(New(out, JSON, klogLevel{}))
	}
}

// klogLevel is the current level of klog's flag -v.
type klogLevel struct{}

// Level implements slog.Leveler.
func (klogLevel) Level() slog.Level {
	const highest = 10
	for v := highest; v > 0; v-- {
		if klog.V(klog.Level(v)).Enabled() {
			return Verbosity(v)
		}
	}
	return slog.LevelInfo
}

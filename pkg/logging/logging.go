// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package logging writes the log of every binary in the same form: a line of JSON with ts, level and msg, or text.
package logging

import (
	"context"
	"errors"
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
		return logr.FromSlogHandler(ordinary{slog.NewTextHandler(out, options)})
	}
	return logr.FromSlogHandler(ordinary{slog.NewJSONHandler(out, options)})
}

// ordinary shows as INFO what libraries call an error although each stop of a process has it, so that a rollout has no line of ERROR.
type ordinary struct{ slog.Handler }

// Handle implements slog.Handler.
func (h ordinary) Handle(ctx context.Context, record slog.Record) error {
	record.Attrs(func(attr slog.Attr) bool {
		err, ok := attr.Value.Any().(error)
		switch {
		case !ok:
			return true
		case record.Message == "Unexpected error when reading response body" && errors.Is(err, context.Canceled),
			record.Message == "error received after stop sequence was engaged" && err.Error() == "leader election lost":
			record.Level = slog.LevelInfo
		}
		return false
	})
	return h.Handler.Handle(ctx, record)
}

// WithAttrs implements slog.Handler.
func (h ordinary) WithAttrs(attrs []slog.Attr) slog.Handler {
	return ordinary{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h ordinary) WithGroup(name string) slog.Handler { return ordinary{h.Handler.WithGroup(name)} }

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

// Lines returns the format of JSON, as a default.
func Lines() Format { return Format{json: true} }

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

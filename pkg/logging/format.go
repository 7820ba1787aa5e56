// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

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

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

func TestJSON(t *testing.T) {
	var out bytes.Buffer
	var level slog.LevelVar
	logger := New(&out, JSON, &level)
	logger.V(1).Info("Too much")
	level.Set(Verbosity(2))
	logger.WithName("part").V(2).Info("Looked", "time", "noon")
	logger.Error(errors.New("it rains"), "Failed", "object", "a")

	var got []map[string]any
	for line := range strings.Lines(out.String()) {
		fields := map[string]any{}
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if fields["ts"] == nil {
			t.Errorf("no time: %s", line)
		}
		delete(fields, "ts")
		got = append(got, fields)
	}
	want := []map[string]any{
		{"level": "DEBUG", "msg": "Looked", "logger": "part", "time": "noon"},
		{"level": "ERROR", "msg": "Failed", "err": "it rains", "object": "a"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOrdinaryStop checks that what each stop of a process has is no error in the log, and what is one stays one.
func TestOrdinaryStop(t *testing.T) {
	for _, tc := range []struct {
		err           error
		message, want string
	}{
		{errors.New("leader election lost"), "error received after stop sequence was engaged", "INFO"},
		{errors.New("disk full"), "error received after stop sequence was engaged", "ERROR"},
		{fmt.Errorf("read: %w", context.Canceled), "Unexpected error when reading response body", "INFO"},
		{io.ErrUnexpectedEOF, "Unexpected error when reading response body", "ERROR"},
		{context.Canceled, "Failed to write", "ERROR"},
	} {
		var out bytes.Buffer
		New(&out, JSON, slog.LevelInfo).WithValues("controller", "x").Error(tc.err, tc.message)
		if line := out.String(); !strings.Contains(line, `"level":"`+tc.want+`"`) || !strings.Contains(line, tc.err.Error()) {
			t.Errorf("%s: %v: line = %s, want level %s", tc.message, tc.err, line, tc.want)
		}
	}
}

func TestText(t *testing.T) {
	var out bytes.Buffer
	New(&out, Text, slog.LevelInfo).Info("Starting", "version", "v1")
	if line := out.String(); !strings.HasPrefix(line, "ts=") || !strings.HasSuffix(line, " level=INFO msg=Starting version=v1\n") {
		t.Errorf("%q", line)
	}
}

func TestFormat(t *testing.T) {
	var format Format
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	format.AddFlag(flags)
	for value, problem := range map[string]string{"text": "", "json": "", "yaml": `invalid argument "yaml" for "--logging-format" flag: must be text or json`} {
		err := flags.Parse([]string{"--logging-format=" + value})
		if problem == "" && (err != nil || format.String() != value) || problem != "" && (err == nil || err.Error() != problem) {
			t.Errorf("%s: %v, %s", value, err, &format)
		}
	}
}

func TestKlogLevel(t *testing.T) {
	var verbosity klog.Level
	t.Cleanup(func() { _ = verbosity.Set("0") })
	for text, want := range map[string]slog.Level{"0": slog.LevelInfo, "4": -4, "10": -10, "99": -10} {
		if err := verbosity.Set(text); err != nil {
			t.Fatal(err)
		}
		if got := (klogLevel{}).Level(); got != want {
			t.Errorf("-v=%s is level %d", text, got)
		}
	}
}

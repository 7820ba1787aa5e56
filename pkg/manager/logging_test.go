// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/logging"
)

// newLogger returns the logger of a configuration.
func newLogger(out io.Writer, config v1alpha1.LogConfiguration, verbosity int) logr.Logger {
	return logging.New(out, string(config.Format), threshold(config.Level, verbosity))
}

func TestThreshold(t *testing.T) {
	for _, tc := range []struct {
		level     v1alpha1.LogLevel
		verbosity int
		want      slog.Level
	}{
		{v1alpha1.LogLevelError, 0, slog.LevelError},
		{v1alpha1.LogLevelInfo, 0, slog.LevelInfo},
		{v1alpha1.LogLevelDebug, 0, slog.LevelDebug},
		{v1alpha1.LogLevelError, 2, -2},
		{v1alpha1.LogLevelInfo, 1, -1},
		{v1alpha1.LogLevelDebug, 1, slog.LevelDebug},
		{v1alpha1.LogLevelDebug, 9, -9},
	} {
		if got := threshold(tc.level, tc.verbosity); got != tc.want {
			t.Errorf("%s and -v=%d: got %d, want %d", tc.level, tc.verbosity, got, tc.want)
		}
	}
}

func TestLoggerJSON(t *testing.T) {
	var out bytes.Buffer
	logger := newLogger(&out, v1alpha1.LogConfiguration{Level: v1alpha1.LogLevelInfo, Format: v1alpha1.LogFormatJSON}, 1)
	logger.V(2).Info("too much")
	logger.V(1).WithName("a").Info("detail")
	logger.Info("text", "project", "b")
	logger.Error(errors.New("bad"), "failed")
	var got []string
	for line := range strings.Lines(out.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if fields["ts"] == nil {
			t.Errorf("%q has no time", line)
		}
		delete(fields, "ts")
		short, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(short))
	}
	want := []string{
		`{"level":"DEBUG","logger":"a","msg":"detail"}`,
		`{"level":"INFO","msg":"text","project":"b"}`,
		`{"err":"bad","level":"ERROR","msg":"failed"}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestLoggerText(t *testing.T) {
	var out bytes.Buffer
	logger := newLogger(&out, v1alpha1.LogConfiguration{Level: v1alpha1.LogLevelError, Format: v1alpha1.LogFormatText}, 0)
	logger.Info("not shown")
	logger.Error(errors.New("bad"), "it failed", "project", "b")
	if _, got, _ := strings.Cut(out.String(), " "); got != "level=ERROR msg=\"it failed\" err=bad project=b\n" {
		t.Errorf("got %s", got)
	}
}

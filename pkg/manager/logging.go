// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"io"
	"log/slog"
	"strconv"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// installLogger makes one logger that the controllers, controller-runtime and client-go share. The last two
// keep theirs in global variables, so this is called once per process, before anything else runs.
func installLogger(out io.Writer, config v1alpha1.LogConfiguration, verbosity int) logr.Logger {
	logger := newLogger(out, config, verbosity)
	ctrl.SetLogger(logger)
	klog.SetLoggerWithOptions(logger.WithName("client-go"), klog.ContextualLogger(true))
	var level klog.Level
	// Set fails only for what is not a number.
	_ = level.Set(strconv.Itoa(max(0, -int(threshold(config.Level, verbosity)))))
	return logger
}

// newLogger writes one line per message, as JSON or as text.
func newLogger(out io.Writer, config v1alpha1.LogConfiguration, verbosity int) logr.Logger {
	options := &slog.HandlerOptions{Level: threshold(config.Level, verbosity), ReplaceAttr: plainLevel}
	if config.Format == v1alpha1.LogFormatText {
		return logr.FromSlogHandler(slog.NewTextHandler(out, options))
	}
	return logr.FromSlogHandler(slog.NewJSONHandler(out, options))
}

// threshold is the lowest level that is logged. Verbosity n of logr and klog is level -n of slog, and debug
// (-4) is where the libraries begin to explain themselves.
func threshold(level v1alpha1.LogLevel, verbosity int) slog.Level {
	lowest := map[v1alpha1.LogLevel]slog.Level{
		v1alpha1.LogLevelDebug: slog.LevelDebug,
		v1alpha1.LogLevelInfo:  slog.LevelInfo,
		v1alpha1.LogLevelError: slog.LevelError,
	}[level]
	if verbosity > 0 {
		lowest = min(lowest, slog.Level(-verbosity))
	}
	return lowest
}

// plainLevel shows every verbosity as DEBUG; slog would make DEBUG+3 of verbosity 1.
func plainLevel(groups []string, attr slog.Attr) slog.Attr {
	if level, ok := attr.Value.Any().(slog.Level); ok && len(groups) == 0 && level < slog.LevelInfo {
		attr.Value = slog.StringValue(slog.LevelDebug.String())
	}
	return attr
}

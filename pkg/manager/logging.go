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
	"groundskeeper.io/groundskeeper/pkg/logging"
)

// logLevel is the level of a log, which may change while the process runs.
type logLevel struct{ slog.LevelVar }

// set shows lines from a level on, those of klog, which has a dedicated level, too.
func (l *logLevel) set(level slog.Level) {
	l.Set(level)
	var verbosity klog.Level
	// Set fails only for what is not a number.
	_ = verbosity.Set(strconv.Itoa(max(0, -int(level))))
}

// installLogger makes one logger that the controllers, controller-runtime and client-go share. The last two
// keep theirs in global variables, so this is called once per process, before anything else runs.
func installLogger(out io.Writer, config v1alpha1.LogConfiguration, verbosity int) (logr.Logger, *logLevel) {
	level := &logLevel{}
	level.set(threshold(config.Level, verbosity))
	logger := logging.New(out, string(config.Format), level)
	logging.Install(logger)
	klog.SetLoggerWithOptions(logger.WithName("client-go"), klog.ContextualLogger(true))
	ctrl.SetLogger(logger)
	return logger, level
}

// threshold is the lowest level that is logged. Debug is level -4 of slog, where the libraries begin to explain
// themselves.
func threshold(level v1alpha1.LogLevel, verbosity int) slog.Level {
	lowest := map[v1alpha1.LogLevel]slog.Level{
		v1alpha1.LogLevelDebug: slog.LevelDebug,
		v1alpha1.LogLevelInfo:  slog.LevelInfo,
		v1alpha1.LogLevelError: slog.LevelError,
	}[level]
	if verbosity > 0 {
		lowest = min(lowest, logging.Verbosity(verbosity))
	}
	return lowest
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"fmt"
	"os"
	"runtime"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// parseLevel returns the level of etcd's log, warn by default.
func parseLevel(name string) (zapcore.Level, error) {
	switch name {
	case "":
		return zapcore.WarnLevel, nil
	case "debug", "info", "warn", "error":
		return zapcore.ParseLevel(name)
	default:
		return 0, fmt.Errorf("embedded etcd: log level %q is unknown: use debug, info, warn or error", name)
	}
}

// newLogger returns etcd's log on standard error, a function that sets its level, and a channel that
// receives the message with which etcd would end the process (it panics or exits when its files are
// damaged or the disk fails).
func newLogger(level zapcore.Level) (*zap.Logger, func(zapcore.Level), <-chan error) {
	current := zap.NewAtomicLevelAt(level)
	died := make(ending, 1)
	config := zap.NewProductionEncoderConfig()
	// As the lines of the server itself.
	config.EncodeTime, config.EncodeLevel = zapcore.RFC3339NanoTimeEncoder, zapcore.CapitalLevelEncoder
	encoder := zapcore.NewJSONEncoder(config)
	log := zap.New(zapcore.NewCore(encoder, zapcore.Lock(os.Stderr), current), zap.WithPanicHook(died), zap.WithFatalHook(died))
	return log.Named("etcd"), current.SetLevel, died
}

// ending ends the goroutine in place of the process and passes on why.
type ending chan error

// OnWrite implements zapcore.CheckWriteHook.
func (e ending) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	err := fmt.Errorf("%s", entry.Message)
	for _, field := range fields {
		if cause, ok := field.Interface.(error); ok {
			err = fmt.Errorf("%s: %w", entry.Message, cause)
			break
		}
	}
	select {
	case e <- err:
	default:
	}
	runtime.Goexit()
}

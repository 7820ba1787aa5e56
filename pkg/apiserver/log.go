// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/grpclog"
	"k8s.io/klog/v2"
)

// InstallLog makes everything in the process log in the format of --logging-format. It is called once, before anything logs.
func (o *Options) InstallLog(out io.Writer) {
	o.LogFormat.Install(out)
	grpclog.SetLoggerV2(grpcLog{klog.Background().WithName("grpc")})
}

// grpcLog logs what gRPC, the client of etcd and of the collector, has to report. Left alone it writes lines in another format.
type grpcLog struct{ logger logr.Logger }

var _ grpclog.LoggerV2 = grpcLog{}

// log logs a message; in its usual state gRPC reports each connection.
func (l grpcLog) log(verbosity int, text string) {
	l.logger.V(verbosity).Info(strings.TrimSpace(text))
}

const (
	grpcInfo    = 6
	grpcWarning = 4
)

func (l grpcLog) Info(args ...any)                 { l.log(grpcInfo, fmt.Sprint(args...)) }
func (l grpcLog) Infoln(args ...any)               { l.log(grpcInfo, fmt.Sprintln(args...)) }
func (l grpcLog) Infof(format string, args ...any) { l.log(grpcInfo, fmt.Sprintf(format, args...)) }
func (l grpcLog) Warning(args ...any)              { l.log(grpcWarning, fmt.Sprint(args...)) }
func (l grpcLog) Warningln(args ...any)            { l.log(grpcWarning, fmt.Sprintln(args...)) }
func (l grpcLog) Warningf(format string, args ...any) {
	l.log(grpcWarning, fmt.Sprintf(format, args...))
}
func (l grpcLog) Error(args ...any)                 { l.logger.Error(nil, strings.TrimSpace(fmt.Sprint(args...))) }
func (l grpcLog) Errorln(args ...any)               { l.Error(fmt.Sprintln(args...)) }
func (l grpcLog) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }
func (l grpcLog) Fatal(args ...any)                 { l.Error(args...); os.Exit(1) }
func (l grpcLog) Fatalln(args ...any)               { l.Fatal(fmt.Sprintln(args...)) }
func (l grpcLog) Fatalf(format string, args ...any) { l.Fatal(fmt.Sprintf(format, args...)) }

// V reports whether gRPC should put together its messages of a verbosity.
func (l grpcLog) V(verbosity int) bool { return l.logger.V(grpcInfo + verbosity).Enabled() }

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// TestLogsAreJSON checks that every line that a binary logs with --logging-format=json is an object with ts, level and msg,
// whatever library wrote it.
func TestLogsAreJSON(t *testing.T) {
	t.Parallel()
	const format = "--logging-format=json"
	admin := shared.AdminKubeconfig()
	for name, begin := range map[string]func(t *testing.T) *child{
		apiserver: func(t *testing.T) *child {
			s := standalone(t, format, "-v=4", "--embedded-etcd-dir="+t.TempDir(), "--tracing-config-file="+write(t, // Receives the traces
				"apiVersion: apiserver.config.k8s.io/v1\nkind: TracingConfiguration\nendpoint: 127.0.0.1:"+unusedPort+"\nsamplingRatePerMillion: 1000000\n"))
			if _, err := versioned.NewForConfigOrDie(s.config).GardenerV1beta1().Projects().List(t.Context(), metav1.ListOptions{}); err != nil {
				t.Fatal(err)
			}
			return s.child
		},
		// It is a standby here.
		manager: func(t *testing.T) *child {
			return start(t, t.Context(), manager, "-v=4", "--kubeconfig="+kubeconfigOf(manager), "--health-address=127.0.0.1:0", "--webhook-address=127.0.0.1:0")
		},
		"groundskeeper-discoverer": func(t *testing.T) *child {
			return start(t, t.Context(), "groundskeeper-discoverer", "kubernetes", format, "--debug", "--backend-name=nobody", "--backend-namespace=default",
				"--gimbal-kubecfg-file="+admin, "--discover-kubecfg-file="+admin, "--prometheus-listen-address=127.0.0.1:"+freePort(t))
		},
		"groundskeeper-local-volume-node-cleanup": func(t *testing.T) *child {
			return start(t, t.Context(), "groundskeeper-local-volume-node-cleanup", format, "-v=4", "--dry-run", "--namespace=default",
				"--kubeconfig="+admin, "--listen-address=127.0.0.1:"+freePort(t))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := begin(t)
			eventually(t, func(context.Context) error {
				if len(process.stderr.lines()) < 3 {
					return errors.New("it reports nothing")
				}
				return nil
			})
			if err := process.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			process.exitCode()
			for _, line := range process.stderr.lines() {
				var fields struct{ TS, Level, Msg string }
				if err := json.Unmarshal([]byte(line), &fields); err != nil {
					if !strings.HasPrefix(line, "error: ") { // the last line of a failed process is written for users
						t.Errorf("%v: %s", err, line)
					}
					continue
				}
				if _, err := time.Parse(time.RFC3339Nano, fields.TS); err != nil || fields.Level == "" || fields.Msg == "" {
					t.Errorf("%v: %s", err, line)
				}
			}
		})
	}
}

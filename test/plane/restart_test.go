// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// testComesBack kills processes, starts the plane again in its directory, and checks for changes.
func testComesBack(t *testing.T, p *Plane) {
	pids := func(p *Plane) []int { return []int{p.Etcd.PID(), p.KubeAPIServer.PID(), p.KubeControllerManager.PID()} }
	before, kubeconfig := pids(p), read(t, p.AdminKubeconfig())
	for _, process := range []*Process{p.Etcd, p.KubeAPIServer} {
		if err := process.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var lines []string
	options := Options{Dir: p.Dir(), UnsafeNoFsync: true, Progress: func(line string) { lines = append(lines, line) }}
	second, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	after := pids(second)
	for i, name := range []string{"etcd", "kube-apiserver"} {
		if after[i] == 0 || after[i] == before[i] || !strings.Contains(lines[i], "started again") {
			t.Errorf("%s: pid %d after %d, %q", name, after[i], before[i], lines[i])
		}
	}
	if after[2] != before[2] || !strings.Contains(lines[2], "runs already") {
		t.Errorf("kube-controller-manager was touched: pid %d after %d, %q", after[2], before[2], lines[2])
	}
	if read(t, p.AdminKubeconfig()) != kubeconfig {
		t.Error("the kubeconfig changed")
	}
	if _, err := client(t, second).CoreV1().Namespaces().Get(t.Context(), systemNamespace, metav1.GetOptions{}); err != nil {
		t.Errorf("the data has been deleted: %v", err)
	}

	// While it was down another client took its port.
	if err := second.KubeAPIServer.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", second.KubeAPIServer.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // the test is over
	third, err := Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	if third.KubeAPIServer.Address() == second.KubeAPIServer.Address() {
		t.Error("the port was not changed")
	}
	if third.KubeControllerManager.PID() == before[2] {
		t.Error("kube-controller-manager still talks to the old port")
	}
	testAdmin(t, third)
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestFailedStartNamesTheProcess(t *testing.T) {
	binary(t, "kube-apiserver")
	dir := t.TempDir()
	_, err := Start(t.Context(), Options{Dir: dir, UnsafeNoFsync: true, KubeAPIServerFlags: []string{"--colour=green"}})
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("%T: %v", err, err)
	}
	if failure.Process != "kube-apiserver" || !slices.ContainsFunc(failure.Lines, func(line string) bool { return strings.Contains(line, "--colour") }) {
		t.Errorf("the error does not name it: %v", err)
	}
	all, err := Inspect(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range all {
		if status.PID != 0 {
			t.Errorf("%s still runs (pid %d)", status.Name, status.PID)
		}
	}
}

func TestInspectStopRemove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	if all, err := Inspect(t.Context(), dir); err != nil || len(all) != 0 {
		t.Errorf("a directory that does not exist: %v, %v", all, err)
	}
	p := controlPlane(t, Options{Dir: dir})
	var all []Status
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (_ bool, err error) {
		all, err = Inspect(ctx, dir) // a busy machine may keep one of them from responding
		return err == nil && !slices.ContainsFunc(all, func(s Status) bool { return s.Err != nil }), err
	})
	if err != nil {
		t.Fatalf("%v: %+v", err, all)
	}
	var names []string
	for _, status := range all {
		names = append(names, status.Name)
		if status.PID == 0 || status.Err != nil {
			t.Errorf("%s: pid %d, %v", status.Name, status.PID, status.Err)
		}
	}
	if diff := cmp.Diff([]string{"etcd", "kube-apiserver", "kube-controller-manager"}, names); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	var stopped []string
	if err := Remove(t.Context(), dir, func(line string) { stopped = append(stopped, strings.Fields(line)[0]) }); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(names)
	if diff := cmp.Diff(names, stopped); diff != "" {
		t.Errorf("order of the stop (-want +got):\n%s", diff)
	}
	if p.Etcd.PID() != 0 || p.KubeAPIServer.PID() != 0 {
		t.Error("it still runs")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the directory is still there: %v", err)
	}
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// TestStalledHandshakes checks that many clients that connect, and do not end the TLS handshake, do not keep others from being served.
func TestStalledHandshakes(t *testing.T) {
	t.Parallel()
	s := standalone(t, "--embedded-etcd-dir="+t.TempDir())
	address := strings.TrimPrefix(s.config.Host, "https://")
	for i := range 1000 {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		if i%2 == 0 { // the header of a handshake whose message does not come
			if _, err := connection.Write([]byte{0x16, 0x03, 0x01, 0x02, 0x00}); err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
		}
	}
	c := versioned.NewForConfigOrDie(s.config).KubernikusV1().Klusters("team")
	if _, err := c.Create(t.Context(), klusterIn("team", "beside", "1.36.3"), metav1.CreateOptions{}); err != nil {
		t.Error(err)
	}
	if list, err := c.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("list beside stalled handshakes: %v, %v, want one object", list, err)
	}
}

// TestCompletedHandshakes checks that clients that end the TLS handshake, and send nothing, take little memory each, do not keep others from
// being served, and are disconnected.
func TestCompletedHandshakes(t *testing.T) {
	t.Parallel()
	s := standalone(t, "--embedded-etcd-dir="+t.TempDir())
	address := strings.TrimPrefix(s.config.Host, "https://")
	c := versioned.NewForConfigOrDie(s.config).KubernikusV1().Klusters("team")
	if _, err := c.Create(t.Context(), klusterIn("team", "before", "1.36.3"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// What the documentation states, doubled: a collection of garbage comes when it comes.
	const connections, each = 1000, 100 << 10
	before := peakMemory(t, s.cmd.Process.Pid)
	var last net.Conn
	for i := range connections {
		protocol := []string{"h2", "http/1.1"}[i%2]
		connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}})
		if err != nil {
			t.Fatalf("connection %d: %v", i, err)
		}
		t.Cleanup(func() { _ = connection.Close() })
		if i%2 == 0 {
			last = connection
		}
	}
	if list, err := c.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 {
		t.Errorf("list beside silent connections: %v, %v, want one object", list, err)
	}
	if taken := (peakMemory(t, s.cmd.Process.Pid) - before) / connections; taken > each {
		t.Errorf("a silent connection takes %d KiB, want %d at most", taken>>10, each>>10)
	}
	if err := last.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, last); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("a silent connection stays open for two minutes, want it closed")
	}
}

// TestEmulatedVersions checks that the API server serves what is stored while it emulates each version of Kubernetes that it offers.
func TestEmulatedVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i, version := range []string{"1.37", "1.34", "1.35", "1.36"} {
		s := standalone(t, "--embedded-etcd-dir="+dir, "--emulated-version=kube="+version)
		c := versioned.NewForConfigOrDie(s.config).KubernikusV1().Klusters("team")
		name := "v" + strings.ReplaceAll(version, ".", "-")
		if _, err := c.Create(t.Context(), klusterIn("team", name, "1.36.3"), metav1.CreateOptions{}); err != nil {
			t.Errorf("version %s: %v", version, err)
		}
		if list, err := c.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != i+1 {
			t.Errorf("version %s: list = %v, %v, want %d objects", version, list, err, i+1)
		}
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		s.exitCode()
	}
}

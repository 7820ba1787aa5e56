// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/plane"
)

// localplane runs the command line and returns what it wrote.
func localplane(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := newCommand(&out)
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&out)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestBadInput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"unknown command": {[]string{"jump"}, "jump"},
		"unknown flag":    {[]string{"up", "--jump"}, "--jump"},
		"an argument":     {[]string{"down", "now"}, "now"},
		"no directory":    {[]string{"status", "--dir="}, "--dir"},
		"unknown backend": {[]string{"up", "--dir=" + dir, "--midonet=foo"}, `"foo" is not known; "fake" starts`},
		"unknown OVN":     {[]string{"up", "--dir=" + dir, "--ovn=fake"}, `"fake" is not known; "real" starts OVN's own servers, empty starts none`},
		"two backends":    {[]string{"up", "--dir=" + dir, "--ovn=real", "--midonet=fake"}, "MIDONET"},
		"OVN and a node":  {[]string{"up", "--dir=" + dir, "--ovn=real", "--node=" + dir}, "make node-up"},
		"no images":       {[]string{"up", "--dir=" + dir, "--node=" + dir}, "make images"},
		"no binaries":     {[]string{"up", "--dir=" + dir, "--bin=" + dir}, "make build kubernetes"},
	} {
		if _, err := localplane(t, test.args...); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v does not name %s", name, err, test.want)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("a rejected start left files behind: %v", err)
	}
}

func TestNothingRuns(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "plane")
	for command, want := range map[string]string{"status": "make up starts one", "down": "Nothing ran", "clean-up": "Nothing ran"} {
		out, err := localplane(t, command, "--dir="+dir)
		if err != nil {
			t.Errorf("%s: %v", command, err)
		}
		if !strings.Contains(out, want) || strings.Contains(out, "Deleted") {
			t.Errorf("output of %s = %q", command, out)
		}
	}
}

func TestOneAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	release, err := plane.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"up", "down", "clean-up"} {
		if _, err := localplane(t, command, "--dir="+dir); err == nil || !strings.Contains(err.Error(), "wait until it is done") {
			t.Errorf("%s beside another one: %v", command, err)
		}
	}
	if _, err := localplane(t, "status", "--dir="+dir); err != nil {
		t.Errorf("status: %v", err)
	}
	release()
	if _, err := localplane(t, "down", "--dir="+dir); err != nil {
		t.Errorf("down afterwards: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := localplane(t, "clean-up", "--dir="+dir); err != nil || !strings.Contains(out, "Deleted the data in "+dir) {
		t.Errorf("clean-up afterwards: %q, error %v", out, err)
	}
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// TestNetwork starts OVN as act 8 does, and checks that its commands find it. It is skipped where OVN is not installed.
func TestNetwork(t *testing.T) {
	installation := ovnserver.NewInstallation("")
	if _, err := os.Stat(installation.Program("ovsdb-server")); err != nil {
		t.Skip("ovsdb-server is not installed; make test-ovn unpacks it")
	}
	s := &stage{dir: t.TempDir()}
	var err error
	if s.ovn, err = newOVN(s.path("ovn")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer s.background.Wait()
	defer cancel()
	if err := s.network(ctx); err != nil {
		t.Fatal(err)
	}
	execute := shell(s.environment())
	for _, command := range []struct{ text, want string }{
		{"ovn-nbctl ls-add here -- lsp-add here one -- lsp-set-addresses one '0a:58:0a:01:00:01 10.1.0.1' " +
			"-- lsp-add here two -- lsp-set-addresses two '0a:58:0a:01:00:02 10.1.0.2'", ""},
		{"ovn-nbctl --wait=sb sync", ""},
		{"ovn-nbctl lsp-list here", "(one)"},
		{`ovn-trace --minimal here 'inport=="one" && eth.src==0a:58:0a:01:00:01 && eth.dst==0a:58:0a:01:00:02' | sed '/^#/d'`, `output("two")`},
	} {
		if output, err := execute(ctx, command.text); err != nil || !strings.Contains(output, command.want) {
			t.Errorf("%s = %q, %v, want %q", command.text, output, err, command.want)
		}
	}
}

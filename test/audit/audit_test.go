// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const discoverer = "system:serviceaccount:gimbal-discovery:us-east-discoverer"

func line(user, verb, decision string) string {
	return fmt.Sprintf(`{"verb":%q,"requestURI":"/api/v1/pods","user":{"username":%q},"annotations":{"authorization.k8s.io/decision":%q}}`, verb, user, decision) + "\n"
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMissingPermissionsAreFound(t *testing.T) {
	both := line(APIServer, "list", "allow") + line(Manager, "list", "allow")
	for name, test := range map[string]struct{ log, want string }{
		"all allowed":              {both, ""},
		"another user is rejected": {both + line("stranger", "list", "forbid"), ""},
		"another account":          {both + line("system:serviceaccount:shop:ci", "list", "forbid"), ""},
		"the API server":           {both + line(APIServer, "list", "forbid"), APIServer + " may not list /api/v1/pods"},
		"the controller manager":   {both + line(Manager, "list", "forbid"), Manager + " may not list /api/v1/pods"},
		"a discoverer":             {both + line(discoverer, "patch", "forbid"), discoverer + " may not patch /api/v1/pods"},
		"nothing was recorded":     {line(APIServer, "list", "allow"), "no request of " + Manager},
		"not an audit log":         {"x\n", "invalid character"},
		"a line in the making":     {both + `{"verb":"li`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := CheckPermissions(write(t, test.log), APIServer, Manager)
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	if err := CheckPermissions(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("without a log: %v", err)
	}
}

func TestARequestIsNamedOnce(t *testing.T) {
	err := CheckPermissions(write(t, strings.Repeat(line(Manager, "list", "forbid"), 3)))
	if err == nil || strings.Count(err.Error(), "may not") != 1 {
		t.Errorf("got %v", err)
	}
}

func TestReadStopsOnCancellation(t *testing.T) {
	log := write(t, line("a", "get", "allow")+line("b", "update", "allow"))
	count := 0
	for event, err := range Read(log) {
		if err != nil || event.User.Username != "a" || event.Writes() || event.Forbidden() {
			t.Errorf("got %+v, %v", event, err)
		}
		count++
		break
	}
	if count != 1 {
		t.Errorf("%d events", count)
	}
}

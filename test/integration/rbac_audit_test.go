// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// ours are the identities of our two processes, with the rights that artifacts/ gives them and no other.
func ours() []string {
	const prefix = "system:serviceaccount:groundskeeper-system:"
	return []string{prefix + "groundskeeper-apiserver", prefix + "groundskeeper-controller-manager"}
}

// auditEvent is what is read of a line of the audit log.
type auditEvent struct {
	Verb       string
	RequestURI string
	User       struct{ Username string }
	UserAgent  string
	// Annotations say, among others, what the authorizer decided. A 403 can have other causes: a name that another
	// object holds, a namespace that is being deleted.
	Annotations map[string]string
}

// checkPermissions reads the audit log of the whole run: whatever our processes asked for, they had the right to.
func checkPermissions(log string) error {
	file, err := os.Open(log)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	requests := map[string]int{}
	var refused []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var event auditEvent
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return fmt.Errorf("%s: %w", log, err)
		}
		if !slices.Contains(ours(), event.User.Username) {
			continue
		}
		requests[event.User.Username]++
		if event.Annotations["authorization.k8s.io/decision"] == "forbid" {
			refused = append(refused, fmt.Sprintf("%s may not %s %s (%s)", event.User.Username, event.Verb, event.RequestURI, event.UserAgent))
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", log, err)
	}
	for _, user := range ours() {
		if requests[user] == 0 {
			return fmt.Errorf("the audit log has no request of %s", user)
		}
	}
	if len(refused) > 0 {
		slices.Sort(refused)
		return errors.New("rights are missing in artifacts/rbac:\n" + strings.Join(slices.Compact(refused), "\n"))
	}
	return nil
}

// The check of the whole run sees what it is made for.
func TestMissingRightsAreFound(t *testing.T) {
	line := func(user, decision string) string {
		return fmt.Sprintf(`{"verb":"list","requestURI":"/api/v1/pods","user":{"username":%q},"annotations":{"authorization.k8s.io/decision":%q}}`, user, decision) + "\n"
	}
	both := line(ours()[0], "allow") + line(ours()[1], "allow")
	for name, test := range map[string]struct{ log, want string }{
		"all allowed":             {both, ""},
		"another user is refused": {both + line("stranger", "forbid"), ""},
		"the API server":          {both + line(ours()[0], "forbid"), ours()[0] + " may not list /api/v1/pods"},
		"the controller manager":  {both + line(ours()[1], "forbid"), ours()[1] + " may not list /api/v1/pods"},
		"nothing was recorded":    {line(ours()[0], "allow"), "no request of " + ours()[1]},
		"not an audit log":        {"x", "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			err := checkPermissions(write(t, test.log))
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

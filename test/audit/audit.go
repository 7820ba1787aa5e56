// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package audit reads audit logs of kube-apiserver: what Groundskeeper's identities requested, and what they had no permission to.
package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"
)

// Accounts is the group of the ServiceAccounts of Groundskeeper's servers.
const Accounts = "system:serviceaccounts:groundskeeper-system"

const accountPrefix = "system:serviceaccount:"

// APIServer and Manager are the identities of Groundskeeper's two servers, with the permissions that artifacts/ gives them and no
// other.
const (
	APIServer = accountPrefix + "groundskeeper-system:groundskeeper-apiserver"
	Manager   = accountPrefix + "groundskeeper-system:groundskeeper-controller-manager"
)

// Event is what is read of a line of an audit log.
type Event struct {
	Verb       string
	RequestURI string
	User       struct {
		Username string
		Groups   []string
	}
	UserAgent string
	ObjectRef struct{ APIGroup, Resource, Subresource, Namespace, Name string }
	Received  time.Time `json:"requestReceivedTimestamp"`
	// Annotations have, among others, the decision of the authorizer. A 403 can have other causes: a name that another object
	// holds, a namespace that is being deleted.
	Annotations map[string]string
	// ResponseStatus has the code of the response: 201 when something was created.
	ResponseStatus struct{ Code int }
}

// WithheldGroup is the API group of a test that gives Groundskeeper's API server the permission to read its objects only later:
// what happens before is what it is about.
const WithheldGroup = "withheld.example.com"

// Forbidden reports whether the user had no permission to it.
func (e Event) Forbidden() bool {
	return e.Annotations["authorization.k8s.io/decision"] == "forbid" && e.ObjectRef.APIGroup != WithheldGroup
}

// Writes reports whether it was no read.
func (e Event) Writes() bool { return !slices.Contains([]string{"get", "list", "watch"}, e.Verb) }

// IsGroundskeepers reports whether a user is one of Groundskeeper's identities: a server's, or the account that the controller manager made for
// the discoverer of a backend.
func IsGroundskeepers(user string) bool {
	account, ok := strings.CutPrefix(user, accountPrefix)
	return ok && (strings.HasPrefix(account, "groundskeeper-system:") || strings.HasSuffix(account, "-discoverer"))
}

// Read returns the events of a log. A line that is not yet written to its end is none.
func Read(log string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		file, err := os.Open(log)
		if err != nil {
			yield(Event{}, err)
			return
		}
		defer file.Close() //nolint:errcheck // it is only read
		lines := bufio.NewReaderSize(file, 1<<20)
		for {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) {
				return
			}
			var event Event
			if err == nil {
				err = json.Unmarshal(line, &event)
			}
			if err != nil {
				yield(Event{}, fmt.Errorf("%s: %w", log, err))
				return
			}
			if !yield(event, nil) {
				return
			}
		}
	}
}

// CheckPermissions fails when one of Groundskeeper's identities requested something that it had no permission to, and names each such request
// once; also when the log has no request of one of the users, since it reports nothing about them.
func CheckPermissions(log string, users ...string) error {
	seen := map[string]bool{}
	var denied []string
	for event, err := range Read(log) {
		if err != nil {
			return err
		}
		user := event.User.Username
		seen[user] = true
		if IsGroundskeepers(user) && event.Forbidden() {
			denied = append(denied, fmt.Sprintf("%s may not %s %s (%s)", user, event.Verb, event.RequestURI, event.UserAgent))
		}
	}
	for _, user := range users {
		if !seen[user] {
			return fmt.Errorf("the audit log has no request of %s", user)
		}
	}
	if len(denied) > 0 {
		slices.Sort(denied)
		return errors.New("permissions are missing in artifacts/:\n" + strings.Join(slices.Compact(denied), "\n"))
	}
	return nil
}

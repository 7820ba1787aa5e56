// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestThaw checks that the freeze is lifted when Groundskeeper set it, by its UID, and that nothing else is deleted.
func TestThaw(t *testing.T) {
	const uid = "uid-of-the-freeze"
	const policies, bindings, webhooks = admissionAPI + "/validatingadmissionpolicies", admissionAPI + "/validatingadmissionpolicybindings", admissionAPI + "/validatingwebhookconfigurations"
	of := func(manager string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": freezeName, "uid": uid, "managedFields": []any{map[string]any{"manager": manager, "operation": "Apply"}}}}
	}
	for name, c := range map[string]struct {
		served  []string
		found   map[string]any
		code    int // of the deletion
		lifted  bool
		fails   bool
		deletes string
	}{
		"a policy":                   {[]string{"validatingadmissionpolicies"}, of(fieldManager), 200, true, false, bindings},
		"a webhook":                  {[]string{"validatingwebhookconfigurations"}, of(fieldManager), 200, true, false, webhooks},
		"not frozen":                 {[]string{"validatingadmissionpolicies"}, nil, 200, false, false, ""},
		"another client's":           {[]string{"validatingadmissionpolicies"}, of("kubectl"), 200, false, false, ""},
		"it went meanwhile":          {[]string{"validatingadmissionpolicies"}, of(fieldManager), 404, false, false, bindings},
		"another one came meanwhile": {[]string{"validatingadmissionpolicies"}, of(fieldManager), 409, false, true, bindings},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.respond("GET "+admissionAPI, 200, resources(c.served...))
			var body string
			for _, kind := range []string{policies, bindings, webhooks} {
				if c.found != nil {
					s.respond("GET "+kind+"/"+freezeName, 200, c.found)
				}
				s.on("DELETE "+kind+"/"+freezeName, func(w http.ResponseWriter, r *http.Request) {
					text, _ := io.ReadAll(r.Body)
					body = string(text) // protobuf, in which the UID is plain text
					reply(w, c.code, status(c.code, map[int]string{404: "NotFound", 409: "Conflict"}[c.code], "no"))
				})
			}
			lifted, err := connect(t, s).Thaw(t.Context())
			if lifted != c.lifted || (err != nil) != c.fails {
				t.Errorf("lifted = %t, err = %v, want %t, an error: %t", lifted, err, c.lifted, c.fails)
			}
			var want []string
			if c.deletes != "" {
				want = []string{"DELETE " + c.deletes + "/" + freezeName + "?timeout=15s"}
				if !strings.Contains(body, uid) {
					t.Errorf("it is deleted by %q, want the UID", body)
				}
			}
			if got := s.received("DELETE"); !slices.Equal(got, want) {
				t.Errorf("requests = %s, want %s", strings.Join(got, " "), strings.Join(want, " "))
			}
		})
	}
}

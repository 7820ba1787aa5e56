// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// An id that nothing has.
const unknownID = "8f5e3c1c-2f0e-4d13-9b8e-0d6f7a1b2c3d"

// question is a request and what each cloud responds. Names in braces in its path, body and texts stand for ids.
type question struct {
	name, method, path string
	body               any
	status             int
	// has are texts of the response, lacks texts that are not in it, both as JSON without spaces.
	has, lacks []string
	// keep is the name of the id of the object in the response.
	keep string
	// then is a path that is queried again and again behind the response, until its response has a text, or is 404 when there is
	// none. Both are behind it: "path => text".
	then string
}

func TestFakeServicesConform(t *testing.T) {
	for name, questions := range servicesQuestions() {
		t.Run(name, func(t *testing.T) {
			s := fake.New(fake.Options{})
			t.Cleanup(s.Close)
			s.AddUser("demo", "testbed", "demo")
			network := s.AddNetwork("10.0.0.0/24")
			s.AddRouter("demo", network)
			a := &api{t: t, authURL: s.AuthURL(), user: "demo", password: "testbed", project: "demo"}
			a.login()
			subnet := a.call(http.MethodGet, "network/v2.0/subnets?network_id="+network, nil).body["subnets"].([]any)[0].(map[string]any)["id"].(string)
			compareAll(t, a, questions, map[string]string{"network": network, "subnet": subnet, "public": s.AddExternalNetwork("172.24.4.0/24")})
		})
	}
}

func TestRealServicesConform(t *testing.T) {
	needTestbed(t)
	for name, questions := range servicesQuestions() {
		t.Run(name, func(t *testing.T) {
			a := newProject(t)
			network, subnet, router := a.network()
			compareAll(t, a, questions, map[string]string{"network": network, "subnet": subnet, "public": a.gateway(router)})
		})
	}
}

func servicesQuestions() map[string][]question {
	return map[string][]question{
		"Cinder": cinderQuestions, "Octavia": octaviaQuestions, "Octavia, all concurrently": concurrentBalancerQuestions,
		"floating IPs": floatingIPQuestions, "ports and security groups": portQuestions,
		"application credentials": applicationCredentialQuestions,
	}
}

// compareAll queries the questions in their order; each builds on those before it.
func compareAll(t *testing.T, a *api, questions []question, ids map[string]string) {
	ids = maps.Clone(ids)
	ids["nobody"], ids["project"], ids["user"] = unknownID, a.projectID, a.userID
	fill := func(text string) string {
		for name, id := range ids {
			text = strings.ReplaceAll(text, "{"+name+"}", id)
		}
		return text
	}
	for _, q := range questions {
		ok := t.Run(q.name, func(t *testing.T) {
			a.t = t
			var body any
			if q.body != nil {
				data, err := json.Marshal(q.body)
				if err != nil {
					t.Fatal(err)
				}
				body = json.RawMessage(fill(string(data)))
			}
			if q.method == "" {
				q.method = http.MethodGet
			}
			got := a.call(q.method, fill(q.path), body)
			if got.status != q.status {
				t.Fatalf("responds %d, want %d: %s", got.status, q.status, got.text)
			}
			text := compact(got.text)
			for _, part := range q.has {
				if !strings.Contains(text, fill(part)) {
					t.Errorf("no %q in the response: %s", fill(part), text)
				}
			}
			for _, part := range q.lacks {
				if strings.Contains(text, fill(part)) {
					t.Errorf("%q in the response: %s", fill(part), text)
				}
			}
			if q.keep != "" {
				for _, object := range got.body {
					ids[q.keep], _ = object.(map[string]any)["id"].(string)
				}
				if ids[q.keep] == "" {
					t.Fatalf("no id in the response: %s", text)
				}
			}
			if path, want, ok := strings.Cut(fill(q.then), " => "); ok {
				eventually(t, q.then, func() bool {
					got := a.call(http.MethodGet, path, nil)
					return got.status == http.StatusNotFound && want == "404" || got.status == http.StatusOK && strings.Contains(compact(got.text), want)
				})
			}
		})
		if !ok {
			break // the others would only fail with it
		}
	}
}

// compact returns a text of JSON without spaces, and any other text unchanged.
func compact(text string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(text)) != nil {
		return text
	}
	return b.String()
}

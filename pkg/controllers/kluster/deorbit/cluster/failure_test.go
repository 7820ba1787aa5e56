// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"net/url"
	"syscall"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func response(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func TestJudge(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		verdict verdict
		fails   bool
	}{
		"accepted":          {nil, accepted, false},
		"gone":              {response(404, metav1.StatusReasonNotFound, `pods "p" not found`), deleted, false},
		"changed":           {response(409, metav1.StatusReasonConflict, "Precondition failed: UID"), changed, false},
		"webhook denies it": {response(403, metav1.StatusReasonForbidden, `admission webhook "a.b.c" denied the request: no`), rejected, false},
		"webhook denies it with a code of a server's": {response(500, metav1.StatusReasonInternalError, `admission webhook "a.b.c" denied the request: User "x" cannot do it`), rejected, false},
		"webhook denies it as if it changed":          {response(409, metav1.StatusReasonConflict, `admission webhook "a.b.c" denied the request: no`), rejected, false},
		"webhook without dry run":                     {response(400, metav1.StatusReasonBadRequest, `admission webhook "a.b.c" does not support dry run`), rejected, false},
		"webhook does not respond":                    {response(500, metav1.StatusReasonInternalError, `Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: Post "https://s.n.svc:443/x": EOF`), rejected, false},
		"policy denies it":                            {response(422, metav1.StatusReasonInvalid, `pods "p" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'x' denied request: no`), rejected, false},
		"plugin denies it":                            {response(403, metav1.StatusReasonForbidden, `persistentvolumeclaims "p" is forbidden: maximum storage usage is 1Gi`), rejected, false},
		"invalid":                                     {response(422, metav1.StatusReasonInvalid, "invalid"), rejected, false},
		"not allowed":                                 {response(405, metav1.StatusReasonMethodNotAllowed, "not allowed"), rejected, false},
		"no right":                                    {response(403, metav1.StatusReasonForbidden, `pods "p" is forbidden: User "u" cannot delete resource "pods" in API group "" in the namespace "n"`), 0, true},
		"credentials":                                 {response(401, metav1.StatusReasonUnauthorized, "Unauthorized"), 0, true},
		"too many":                                    {response(429, metav1.StatusReasonTooManyRequests, "later"), 0, true},
		"storage":                                     {response(500, metav1.StatusReasonInternalError, "Internal error occurred: etcd"), 0, true},
		"no backend":                                  {response(503, metav1.StatusReasonServiceUnavailable, "unavailable"), 0, true},
		"redirect":                                    {response(302, "", "found"), 0, true},
		"no response":                                 {errors.New("connection refused"), 0, true},
	} {
		verdict, err := judge(c.err)
		if verdict != c.verdict || (err != nil) != c.fails {
			t.Errorf("%s: %d, %v", name, verdict, err)
		}
	}
}

func TestUnanswered(t *testing.T) {
	const begin = `Internal error occurred: failed calling webhook "a.b.c": `
	const at = "https://s.n.svc:443/x?timeout=10s"
	for message, want := range map[string]bool{
		begin + `failed to call webhook: Post "` + at + `": dial tcp 10.0.0.1:443: connect: connection refused`:                   true,
		begin + `failed to call webhook: Post "` + at + `": context deadline exceeded`:                                            true,
		begin + `failed to call webhook: Post "` + at + `": no endpoints available for service "s"`:                               true,
		begin + `failed to call webhook: Post "` + at + `": service "s" not found`:                                                true,
		begin + `failed to call webhook: Post "` + at + `": tls: failed to verify certificate: x509: certificate has expired`:     true,
		begin + `Post ` + at + `: dial tcp: no route to host`:                                                                     true, // before 1.20
		begin + `failed to call webhook: an error on the server ("boom") has prevented the request from succeeding`:               false,
		begin + `failed to call webhook: the server could not find the requested resource`:                                        false,
		begin + `received invalid webhook response: expected response.uid`:                                                        false,
		`admission webhook "x.y.z" denied the request: ` + begin + `failed to call webhook: Post "` + at + `": EOF`:               false,
		`pods "p" is forbidden: ` + begin + `failed to call webhook: Post "` + at + `": EOF`:                                      false,
		`admission webhook "a.b.c" denied the request: failed calling webhook "a.b.c": failed to call webhook: Post "https://h"`:  false,
		`Internal error occurred: admission plugin "MutatingAdmissionWebhook" failed to complete mutation in 13s`:                 false,
		`Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: invalid: Post "https://h": from inside`: false,
	} {
		hook, ok := unreachable(response(500, metav1.StatusReasonInternalError, message), "DELETE")
		if ok != want || want && hook != (webhook{"a.b.c", at, "DELETE"}) {
			t.Errorf("%s: %+v, %t", message, hook, ok)
		}
	}
	if _, ok := unreachable(errors.New(begin+`Post "`+at+`": EOF`), "DELETE"); ok {
		t.Error("an error that is not from an API server names a webhook")
	}
}

func TestEntryIs(t *testing.T) {
	rules := func(operations ...admissionv1.OperationType) []admissionv1.RuleWithOperations {
		return []admissionv1.RuleWithOperations{{Operations: []admissionv1.OperationType{admissionv1.Connect}}, {Operations: operations}}
	}
	service := func(change func(*admissionv1.ServiceReference)) admissionv1.WebhookClientConfig {
		s := &admissionv1.ServiceReference{Namespace: "n", Name: "s", Path: new("/x")}
		change(s)
		return admissionv1.WebhookClientConfig{Service: s}
	}
	same := func(*admissionv1.ServiceReference) {}
	for name, c := range map[string]struct {
		entry entry
		want  bool
	}{
		"the one":           {entry{name: "a.b.c", client: service(same), rules: rules(admissionv1.Delete)}, true},
		"of all operations": {entry{name: "a.b.c", client: service(same), rules: rules(admissionv1.OperationAll)}, true},
		"with a port":       {entry{name: "a.b.c", client: service(func(s *admissionv1.ServiceReference) { s.Port = new(int32(443)) }), rules: rules(admissionv1.Delete)}, true},
		"without a slash":   {entry{name: "a.b.c", client: service(func(s *admissionv1.ServiceReference) { s.Path = new("x") }), rules: rules(admissionv1.Delete)}, true},
		"by its URL":        {entry{name: "a.b.c", client: admissionv1.WebhookClientConfig{URL: new("https://s.n.svc/x/")}, rules: rules(admissionv1.Delete)}, true},
		"another name":      {entry{name: "a.b.d", client: service(same), rules: rules(admissionv1.Delete)}, false},
		"other operations":  {entry{name: "a.b.c", client: service(same), rules: rules(admissionv1.Create, admissionv1.Update)}, false},
		"another service":   {entry{name: "a.b.c", client: service(func(s *admissionv1.ServiceReference) { s.Name = "t" }), rules: rules(admissionv1.Delete)}, false},
		"another port":      {entry{name: "a.b.c", client: service(func(s *admissionv1.ServiceReference) { s.Port = new(int32(8443)) }), rules: rules(admissionv1.Delete)}, false},
		"another path":      {entry{name: "a.b.c", client: service(func(s *admissionv1.ServiceReference) { s.Path = nil }), rules: rules(admissionv1.Delete)}, false},
		"nowhere":           {entry{name: "a.b.c", rules: rules(admissionv1.Delete)}, false},
		"a broken URL":      {entry{name: "a.b.c", client: admissionv1.WebhookClientConfig{URL: new("https://%")}, rules: rules(admissionv1.Delete)}, false},
	} {
		if got := c.entry.is(webhook{"a.b.c", "https://s.n.svc:443/x?timeout=10s", "DELETE"}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestIsTimeout(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, false}, {errors.New("refused"), false}, {context.DeadlineExceeded, true}, {context.Canceled, false},
		{&url.Error{Op: "Delete", URL: "https://a", Err: context.DeadlineExceeded}, true}, {&url.Error{Op: "Delete", URL: "https://a", Err: syscall.ECONNREFUSED}, false},
		{response(504, metav1.StatusReasonTimeout, "Timeout"), false},
	} {
		if isTimeout(c.err) != c.want {
			t.Errorf("%v", c.err)
		}
	}
}

func TestClean(t *testing.T) {
	c := &Connection{secrets: []string{"", "sekret"}}
	long := ""
	for range maxText {
		long += "ä"
	}
	if got := c.clean("a\n\tb sekret\xff " + long); len(got) > maxText+len("…") || got[:15] != "a b [redacted]?" {
		t.Errorf("%q", got)
	}
}

func FuzzUnanswered(f *testing.F) {
	f.Add(`Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: Post "https://s.n.svc:443/x": EOF`)
	f.Add(`admission webhook "a.b.c" denied the request`)
	f.Fuzz(func(t *testing.T, message string) {
		err := response(500, metav1.StatusReasonInternalError, message)
		hook, ok := unreachable(err, "DELETE")
		if verdict, failed := judge(err); ok && (verdict != rejected || failed != nil || hook.name == "" || hook.url == "") {
			t.Errorf("%q: %+v", message, hook)
		}
		entry{name: hook.name, client: admissionv1.WebhookClientConfig{URL: &message}}.is(hook)
	})
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package listbudget

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestForm(t *testing.T) {
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	for _, test := range []struct {
		name, accept, agent, query string
		want                       form
	}{
		{"JSON", "application/json", "", "", form{}},
		{"protobuf", "application/vnd.kubernetes.protobuf, */*", "", "", form{}},
		{"anything", "*/*", "kubectl/v1.36.3", "", form{}},
		{"a table", table, "", "", form{factor: asJSON}},
		{"a table or JSON", "application/json," + table, "", "", form{factor: asJSON}},
		{"metadata", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", "", "", form{factor: asJSON, metadata: true}},
		{"YAML", "application/YAML", "", "", form{factor: asYAML}},
		{"indented", "application/json", "", "pretty=true", form{factor: asJSON}},
		{"not indented", "application/json", "curl/8.5.0", "pretty=false", form{}},
		{"curl", "*/*", "curl/8.5.0", "", form{factor: asJSON}},
		{"a browser", "text/html", "Mozilla/5.0 (X11; Linux x86_64)", "", form{factor: asJSON}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/apis/midonet.org/v1/translations?"+test.query, nil)
			r.Header.Set("Accept", test.accept)
			r.Header.Set("User-Agent", test.agent)
			if got := formOf(r); got != test.want {
				t.Errorf("form of Accept %q, User-Agent %q, %q = %+v, want %+v", test.accept, test.agent, test.query, got, test.want)
			}
		})
	}
}

func TestCost(t *testing.T) {
	body := strings.Repeat("x", 10000)
	list := &midonetv1.TranslationList{Items: []midonetv1.Translation{{Resources: []midonetv1.BackendResource{{Body: body}}}, {}}}
	size := int64(list.Items[0].Size() + list.Items[1].Size())
	if size < int64(len(body)) {
		t.Fatalf("size = %d, want at least that of the body", size)
	}
	if got, want := cost(list, form{factor: 4}), 4*size+2*overhead; got != want {
		t.Errorf("cost of two objects of %d bytes = %d, want %d", size, got, want)
	}
	size = int64(2 * list.Items[1].ObjectMeta.Size())
	if got, want := cost(list, form{factor: 4, metadata: true}), 4*size+2*overhead; got != want {
		t.Errorf("cost of two objects whose metadata are %d bytes = %d, want %d", size, got, want)
	}
}

// TestReserve checks that a response takes memory until it has been written, and that what takes more than all of it is served alone.
func TestReserve(t *testing.T) {
	small := &midonetv1.TranslationList{Items: make([]midonetv1.Translation, 1)}
	half := &midonetv1.TranslationList{Items: make([]midonetv1.Translation, 2)}
	large := &midonetv1.TranslationList{Items: make([]midonetv1.Translation, 100)}
	b := New(2*cost(half, form{factor: asJSON}) - 1)
	for _, test := range []struct {
		name         string
		first        *midonetv1.TranslationList
		second       *midonetv1.TranslationList
		verb, accept string
		rejected     bool
	}{
		{"both fit", half, small, "list", "application/json;as=Table", false},
		{"the second does not fit", half, half, "list", "application/json;as=Table", true},
		{"the first takes all", large, small, "list", "application/json;as=Table", true},
		{"the second would take all", small, large, "list", "application/json;as=Table", true},
		{"in pieces", large, large, "list", "application/json", false},
		{"another verb", large, large, "deletecollection", "application/json;as=Table", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			b.serve(t, test.verb, test.accept, func(r *http.Request) {
				if err := Reserve(r.Context(), test.first); err != nil {
					t.Errorf("first list: %v, want none", err)
				}
				b.serve(t, test.verb, test.accept, func(r *http.Request) {
					err := Reserve(r.Context(), test.second)
					if (err != nil) != test.rejected || err != nil && !apierrors.IsTooManyRequests(err) {
						t.Errorf("second list: %v, want 429: %t", err, test.rejected)
					}
					if _, retries := apierrors.SuggestsClientDelay(err); err != nil && !retries {
						t.Errorf("second list: %v names no time after which clients try again", err)
					}
				})
			})
			if b.available != b.total {
				t.Errorf("available after the responses = %d, want %d", b.available, b.total)
			}
		})
	}
}

// serve calls a function as the handler of a request.
func (b *Budget) serve(t *testing.T, verb, accept string, handle func(*http.Request)) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/apis/midonet.org/v1/translations", nil)
	r.Header.Set("Accept", accept)
	r = r.WithContext(request.WithRequestInfo(r.Context(), &request.RequestInfo{Verb: verb}))
	b.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { handle(r) })).ServeHTTP(httptest.NewRecorder(), r)
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// pages are the responses to one list after the other, and what was queried.
type pages struct {
	pages []page
	lists []string
}

type page struct {
	names []string
	more  string // the token of the next page
	err   error
}

func (p *pages) list(_ context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	p.lists = append(p.lists, fmt.Sprintf("%s limit %d from %q at %q%s", options.LabelSelector, options.Limit, options.Continue, options.ResourceVersion, options.ResourceVersionMatch))
	response := p.pages[0]
	p.pages = p.pages[1:]
	list := &kubernikusv1.KlusterList{ListMeta: metav1.ListMeta{Continue: response.more}}
	for _, name := range response.names {
		list.Items = append(list.Items, kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return list, response.err
}

func TestValidateEach(t *testing.T) {
	selected := &internalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"a": "b"})}
	limited := &internalversion.ListOptions{LabelSelector: labels.Everything(), Limit: 2}
	atRevision := &internalversion.ListOptions{LabelSelector: labels.Everything(), ResourceVersion: "7", ResourceVersionMatch: "Exact"}
	expired := errors.New("the token is too old")
	for _, tc := range []struct {
		name     string
		options  *internalversion.ListOptions
		pages    []page
		rejected string // the name that is rejected
		lists    []string
		seen     string
		want     string // part of the error
	}{
		{"all", selected, []page{{names: []string{"a", "b"}}}, "", []string{`a=b limit 500 from "" at ""`}, "a b", ""},
		{"none", selected, []page{{}}, "", []string{`a=b limit 500 from "" at ""`}, "", ""},
		{"the last one is rejected", selected, []page{{names: []string{"a", "b"}}}, "b", []string{`a=b limit 500 from "" at ""`}, "a b", "b is rejected"},
		{"the first one is rejected", selected, []page{{names: []string{"a", "b"}}}, "a", []string{`a=b limit 500 from "" at ""`}, "a", "a is rejected"},
		{"one of the next page is rejected", selected, []page{{names: []string{"a"}, more: "x"}, {names: []string{"b"}}}, "b",
			[]string{`a=b limit 500 from "" at ""`, `a=b limit 500 from "x" at ""`}, "a b", "b is rejected"},
		{"at a revision, which the token has", atRevision, []page{{names: []string{"a"}, more: "x"}, {names: []string{"b"}}}, "",
			[]string{` limit 500 from "" at "7"Exact`, ` limit 500 from "x" at ""`}, "a b", ""},
		{"no more than requested", limited, []page{{names: []string{"a", "b"}, more: "x"}}, "", []string{` limit 2 from "" at ""`}, "a b", ""},
		{"no list", selected, []page{{err: expired}}, "", []string{`a=b limit 500 from "" at ""`}, "", "too old"},
		{"half a list", selected, []page{{names: []string{"a"}, more: "x"}, {err: expired}}, "",
			[]string{`a=b limit 500 from "" at ""`, `a=b limit 500 from "x" at ""`}, "a", "too old"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p, before := &pages{pages: tc.pages}, tc.options.DeepCopy()
			var seen []string
			err := validateEach(t.Context(), p.list, func(_ context.Context, object runtime.Object) error {
				name := object.(*kubernikusv1.Kluster).Name
				if seen = append(seen, name); name == tc.rejected {
					return errors.New(name + " is rejected")
				}
				return nil
			}, tc.options)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(tc.lists, p.lists); diff != "" {
				t.Errorf("lists (-want +got):\n%s", diff)
			}
			if got := strings.Join(seen, " "); got != tc.seen {
				t.Errorf("validated %q, want %q", got, tc.seen)
			}
			if diff := cmp.Diff(before.Continue+before.ResourceVersion, tc.options.Continue+tc.options.ResourceVersion); diff != "" || before.Limit != tc.options.Limit {
				t.Errorf("the options of the request changed: %+v", tc.options)
			}
		})
	}
	p := &pages{pages: []page{{names: []string{"a"}}}}
	if err := validateEach(t.Context(), p.list, nil, selected); err != nil || len(p.lists) > 0 {
		t.Errorf("without admission: %v, queried %v", err, p.lists)
	}
	if err := validateEach(t.Context(), p.list, func(context.Context, runtime.Object) error { return nil }, nil); err != nil {
		t.Errorf("without options: %v", err)
	}
}

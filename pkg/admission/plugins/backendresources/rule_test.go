// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backendresources

import (
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/backendresource"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

const (
	idA = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
	idB = "21607839-c6b4-5b98-8aa1-89a1aab61bca"
	idC = "23b6f94b-2fb5-55b0-9614-3cbb6d6dc17f"
)

func resource(kind, parent, body string) midonetv1.BackendResource {
	return midonetv1.BackendResource{Kind: kind, Parent: parent, Body: body}
}

func chain(id string) midonetv1.BackendResource { return resource("Chain", "", `{"id":"`+id+`"}`) }

func TestIdentify(t *testing.T) {
	for name, tc := range map[string]struct {
		resource midonetv1.BackendResource
		want     backendresource.Ref // empty: none
	}{
		"alone":                    {chain(idA), backendresource.Ref{Kind: "Chain", ID: idA}},
		"below a parent":           {resource("Port", idB, `{"id":"`+idA+`","type":"Bridge"}`), backendresource.Ref{Kind: "Port", ID: idA}},
		"link":                     {resource("PortLink", idB, `{"peerId":"`+idA+`"}`), backendresource.Ref{Kind: "PortLink", Parent: idB}},
		"binding":                  {resource("HostInterfacePort", idB, `{"portId":"`+idA+`"}`), backendresource.Ref{Kind: "HostInterfacePort", Parent: idB, ID: idA}},
		"zone's host":              {resource("TunnelZoneHost", idB, `{"hostId":"`+idA+`"}`), backendresource.Ref{Kind: "TunnelZoneHost", Parent: idB, ID: idA}},
		"entry of MACs":            {resource("MACPort", idB, `{"macAddr":"AC:CA:BA:FA:69:0B","portId":"`+idA+`"}`), backendresource.Ref{Kind: "MACPort", Parent: idB, ID: "ac-ca-ba-fa-69-0b_" + idA}},
		"entry of addresses":       {resource("IPv4MACPair", idB, `{"ip":"10.1.0.2","mac":"ac:ca:ba:fa:69:0b"}`), backendresource.Ref{Kind: "IPv4MACPair", Parent: idB, ID: "10.1.0.2_ac-ca-ba-fa-69-0b"}},
		"unknown kind":             {resource("Unicorn", idB, `{"id":"x"}`), backendresource.Ref{Kind: "Unicorn", ID: "x"}},
		"unknown kind, no id":      {resource("Unicorn", "", `{"name":"x"}`), backendresource.Ref{}},
		"unknown kind, another id": {resource("Unicorn", "", `{"id":7}`), backendresource.Ref{}},
		"no id":                    {resource("Chain", "", `{}`), backendresource.Ref{}},
		"no JSON":                  {resource("Chain", "", `{`), backendresource.Ref{}},
		"unknown kind, no JSON":    {resource("Unicorn", "", `{`), backendresource.Ref{}},
		"no parent":                {resource("PortLink", "", `{"peerId":"`+idA+`"}`), backendresource.Ref{}},
	} {
		got, ok := identify(tc.resource)
		if ok != (tc.want != backendresource.Ref{}) || ok && got != tc.want {
			t.Errorf("%s: got %+v, %t, want %+v", name, got, ok, tc.want)
		}
	}
}

// Any body identifies at most one resource, and repeated calls return the same result.
func FuzzIdentify(f *testing.F) {
	for _, kind := range midonet.Kinds() {
		f.Add(kind.Name, idA, `{"id":"`+idA+`","type":"Bridge","hostId":"`+idA+`","portId":"`+idB+`","macAddr":"ac:ca:ba:fa:69:0b","mac":"ac:ca:ba:fa:69:0b","ip":"1.2.3.4","peerId":"`+idB+`"}`)
		f.Add(kind.Name, "", `{"id":"`+idA+`"}`)
	}
	for _, body := range []string{"", "{}", "null", "[]", `{"id":null}`, `{"id":{}}`, `{"ID":"a"}`, "{\"id\":\"\x00\"}", `{"id":"\ud800"}`, `{"id":1e999}`} {
		f.Add("Unicorn", "", body)
		f.Add("Port", idA, body)
	}
	f.Fuzz(func(t *testing.T, kind, parent, body string) {
		ref, ok := identify(resource(kind, parent, body))
		if again, okAgain := identify(resource(kind, parent, body)); again != ref || ok != okAgain {
			t.Errorf("got %v and then %v", ref, again)
		}
		if ok && (ref.Kind != kind || ref.ID == "" && ref.Parent == "") {
			t.Errorf("%q, %q, %q is %+v, which could be any", kind, parent, body, ref)
		}
		if utf8.ValidString(kind) {
			holderOf(&midonetv1.Translation{Resources: []midonetv1.BackendResource{resource(kind, parent, body)}})
		}
	})
}

func translation(namespace, name string, labels map[string]string, resources ...midonetv1.BackendResource) *midonetv1.Translation {
	return &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Resources: resources}
}

func owned(uid string) map[string]string { return map[string]string{midonetv1.LabelOwnerUID: uid} }
func global() map[string]string          { return map[string]string{midonetv1.LabelGlobal: ""} }

func TestTakesOver(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b *midonetv1.Translation
		want bool
	}{
		"another version":                     {translation("n", "pod.4.a", owned("1")), translation("n", "pod.3.a", owned("1")), true},
		"another version, key and kind":       {translation("n", "pod.4.a", owned("1")), translation("n", "node.10.b", owned("1")), true},
		"the same version":                    {translation("n", "pod.4.a", owned("1")), translation("n", "pod.4.b", owned("1")), false},
		"another owner":                       {translation("n", "pod.4.a", owned("1")), translation("n", "pod.3.a", owned("2")), false},
		"no owners":                           {translation("n", "pod.4.a", nil), translation("n", "pod.3.a", nil), false},
		"empty owners":                        {translation("n", "pod.4.a", owned("")), translation("n", "pod.3.a", owned("")), false},
		"both global":                         {translation("n", "g.4.a", global()), translation("n", "g.3.a", global()), true},
		"both global, the same version":       {translation("n", "g.4.a", global()), translation("n", "g.4.b", global()), false},
		"one global":                          {translation("n", "g.4.a", global()), translation("n", "g.3.a", owned("1")), false},
		"another namespace":                   {translation("n", "g.4.a", global()), translation("m", "g.3.a", global()), false},
		"the owner's, from another namespace": {translation("n", "pod.4.a", owned("1")), translation("m", "pod.3.a", owned("1")), false},
		"no version":                          {translation("n", "by-hand", owned("1")), translation("n", "pod.3.a", owned("1")), false},
		"a version of letters":                {translation("n", "pod.x.a", owned("1")), translation("n", "pod.3.a", owned("1")), false},
	} {
		a, b := holderOf(tc.a), holderOf(tc.b)
		if a.takesOver(b) != tc.want || b.takesOver(a) != tc.want {
			t.Errorf("%s: got %t and back %t, want %t", name, a.takesOver(b), b.takesOver(a), tc.want)
		}
	}
}

func TestHolderOf(t *testing.T) {
	living := translation("n", "a", nil, chain(idA), resource("Chain", "", "{"), chain(idB))
	if got := len(holderOf(living).resources); got != 2 {
		t.Errorf("it holds %d resources, want 2", got)
	}
	living.DeletionTimestamp = new(metav1.Now())
	if got := len(holderOf(living).resources); got != 0 {
		t.Errorf("while it is being deleted it holds %d resources, want 0", got)
	}
}

func TestClaims(t *testing.T) {
	port, moved := resource("Port", idB, `{"id":"`+idA+`","type":"Bridge"}`), resource("Port", idC, `{"id":"`+idA+`","type":"Bridge"}`)
	for name, tc := range map[string]struct {
		old, now []midonetv1.BackendResource
		want     []int // places in now
	}{
		"all that is new":        {nil, []midonetv1.BackendResource{chain(idA), chain(idB)}, []int{0, 1}},
		"what was there":         {[]midonetv1.BackendResource{chain(idA)}, []midonetv1.BackendResource{chain(idB), chain(idA)}, []int{0}},
		"another body":           {[]midonetv1.BackendResource{port}, []midonetv1.BackendResource{moved}, nil},
		"less":                   {[]midonetv1.BackendResource{port, chain(idA)}, []midonetv1.BackendResource{port}, nil},
		"what has no identity":   {nil, []midonetv1.BackendResource{resource("Chain", "", "{"), chain(idA)}, []int{1}},
		"one id of another kind": {[]midonetv1.BackendResource{chain(idA)}, []midonetv1.BackendResource{chain(idA), port}, []int{1}},
	} {
		var got []int
		for _, c := range claims(&midonetv1.Translation{Resources: tc.now}, &midonetv1.Translation{Resources: tc.old}) {
			got = append(got, c.index)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if got := claims(&midonetv1.Translation{Resources: []midonetv1.BackendResource{chain(idA)}}, nil); len(got) != 1 {
		t.Errorf("a new Translation claims %v", got)
	}
}

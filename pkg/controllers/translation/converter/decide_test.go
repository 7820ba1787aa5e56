// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// testOwner owns in the tables.
func testOwner() convert.Owner {
	return convert.Owner{Kind: convert.KindService, Namespace: "shop", Name: "front", UID: "new"}
}

func port(id string) midonetv1.BackendResource {
	return midonetv1.BackendResource{Kind: "Port", Parent: hostB, Body: `{"id":"` + id + `","type":"Bridge"}`}
}

// made returns a Translation of the owner as stored, with changes.
func made(name string, edits ...func(*midonetv1.Translation)) *midonetv1.Translation {
	translation := testOwner().Translation("x", "y", port(hostA))
	translation.Name, translation.UID, translation.ResourceVersion = name, types.UID("uid-"+name), "7"
	for _, edit := range edits {
		edit(&translation)
	}
	return &translation
}

func ownedBy(kind, name, uid string) func(*midonetv1.Translation) {
	return func(t *midonetv1.Translation) {
		t.Labels = map[string]string{midonetv1.LabelOwnerUID: uid}
		t.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: kind, Name: name, UID: types.UID(uid)}}
	}
}

func going(t *midonetv1.Translation)      { t.DeletionTimestamp = new(metav1.Unix(1, 0)) }
func unlabelled(t *midonetv1.Translation) { t.Labels = nil }
func unowned(t *midonetv1.Translation)    { t.OwnerReferences = nil }
func labelled(label, value string) func(*midonetv1.Translation) {
	return func(t *midonetv1.Translation) { t.Labels = map[string]string{label: value} }
}
func having(resources ...midonetv1.BackendResource) func(*midonetv1.Translation) {
	return func(t *midonetv1.Translation) { t.Resources = resources }
}

func TestClaim(t *testing.T) {
	service := testOwner()
	pod := convert.Owner{Kind: convert.KindPod, Namespace: "shop", Name: "front", UID: "new"}
	globals := convert.Owner{}
	for name, tc := range map[string]struct {
		owner convert.Owner
		edits []func(*midonetv1.Translation)
		want  claim
	}{
		"as created":                            {service, nil, own},
		"without its owner":                     {service, []func(*midonetv1.Translation){unowned}, own},
		"without its label":                     {service, []func(*midonetv1.Translation){unlabelled}, own},
		"without either":                        {service, []func(*midonetv1.Translation){unlabelled, unowned}, foreign},
		"earlier owner of the name":             {service, []func(*midonetv1.Translation){ownedBy("Service", "front", "old")}, inherited},
		"earlier owner of the name, unlabelled": {service, []func(*midonetv1.Translation){ownedBy("Service", "front", "old"), unlabelled}, inherited},
		"another owner":                         {service, []func(*midonetv1.Translation){ownedBy("Service", "back", "old")}, foreign},
		"another kind":                          {service, []func(*midonetv1.Translation){ownedBy("Pod", "front", "old")}, foreign},
		"another API": {service, []func(*midonetv1.Translation){ownedBy("Service", "front", "old"), func(t *midonetv1.Translation) {
			t.OwnerReferences[0].APIVersion = "serving.knative.dev/v1"
		}}, foreign},
		"endpoints of the name":             {service, []func(*midonetv1.Translation){ownedBy("Endpoints", "front", "old")}, inherited},
		"endpoints of the name, unlabelled": {service, []func(*midonetv1.Translation){ownedBy("Endpoints", "front", "old"), unlabelled}, inherited},
		"other endpoints":                   {service, []func(*midonetv1.Translation){ownedBy("Endpoints", "back", "old")}, foreign},
		"endpoints are not of a pod":        {pod, []func(*midonetv1.Translation){ownedBy("Endpoints", "front", "old")}, foreign},
		"foreign label, no owner":           {service, []func(*midonetv1.Translation){ownedBy("", "", "old"), unowned}, foreign},
		"empty label":                       {service, []func(*midonetv1.Translation){labelled(midonetv1.LabelOwnerUID, "")}, foreign},
		"own owner, another label":          {service, []func(*midonetv1.Translation){labelled(midonetv1.LabelOwnerUID, "other")}, foreign},
		"label and owner disagree": {service, []func(*midonetv1.Translation){ownedBy("Service", "front", "old"),
			labelled(midonetv1.LabelOwnerUID, "other")}, foreign},
		"two owners": {service, []func(*midonetv1.Translation){ownedBy("Service", "front", "old"), func(t *midonetv1.Translation) {
			t.OwnerReferences = append(t.OwnerReferences, t.OwnerReferences[0])
		}}, foreign},
		"global for an owner": {service, []func(*midonetv1.Translation){labelled(midonetv1.LabelGlobal, "")}, foreign},
		"global for globals":  {globals, []func(*midonetv1.Translation){labelled(midonetv1.LabelGlobal, ""), unowned}, own},
		"owned for globals":   {globals, nil, foreign},
		"unowned for globals": {globals, []func(*midonetv1.Translation){unlabelled, unowned}, foreign},
	} {
		t.Run(name, func(t *testing.T) {
			if got := claimOf(tc.owner, made("x.4.y", tc.edits...)); got != tc.want {
				t.Errorf("claim %d, want %d", got, tc.want)
			}
		})
	}
}

// summary is a plan in words.
type summary struct{ Create, Update, Adopt, Taken, Waiting, Obstacles, Stale, Former []string }

func summarized(p plan) summary {
	names := func(all []*midonetv1.Translation) []string {
		var names []string
		for _, translation := range all {
			names = append(names, translation.Name)
		}
		return names
	}
	s := summary{Create: names(p.create), Taken: names(p.taken), Waiting: names(p.waiting), Obstacles: names(p.obstacles), Stale: names(p.stale), Former: names(p.former)}
	for _, u := range p.update {
		if u.inherits {
			s.Adopt = append(s.Adopt, u.current.Name)
		} else {
			s.Update = append(s.Update, u.current.Name)
		}
	}
	return s
}

func TestPlan(t *testing.T) {
	const other = "33333333-3333-4333-8333-333333333333"
	want := []midonetv1.Translation{*made("x.4.a"), *made("x.4.b", having(port(hostB)))}
	both := func(more ...*midonetv1.Translation) []*midonetv1.Translation {
		return append([]*midonetv1.Translation{&want[0], &want[1]}, more...)
	}
	onlyB := func(a *midonetv1.Translation) []*midonetv1.Translation { return []*midonetv1.Translation{a, &want[1]} }
	unrelated := having(port(other))
	for name, tc := range map[string]struct {
		existing []*midonetv1.Translation
		want     summary
		complete bool
	}{
		"nothing is there":     {nil, summary{Create: []string{"x.4.a", "x.4.b"}}, true},
		"all is there":         {both(), summary{}, true},
		"one is there":         {[]*midonetv1.Translation{&want[0]}, summary{Create: []string{"x.4.b"}}, true},
		"other resources":      {onlyB(made("x.4.a", unrelated)), summary{Update: []string{"x.4.a"}}, true},
		"no owner":             {onlyB(made("x.4.a", unowned)), summary{Update: []string{"x.4.a"}}, true},
		"no label":             {onlyB(made("x.4.a", unlabelled)), summary{Update: []string{"x.4.a"}}, true},
		"no finalizer":         {onlyB(made("x.4.a", func(t *midonetv1.Translation) { t.Finalizers = nil })), summary{Update: []string{"x.4.a"}}, true},
		"more labels":          {onlyB(made("x.4.a", func(t *midonetv1.Translation) { t.Labels["app"] = "x" })), summary{}, true},
		"flags of the owner":   {onlyB(made("x.4.a", func(t *midonetv1.Translation) { t.OwnerReferences[0].Controller = new(true) })), summary{}, true},
		"a status":             {onlyB(made("x.4.a", func(t *midonetv1.Translation) { t.Status.ObservedGeneration = 7 })), summary{}, true},
		"recreated owner":      {onlyB(made("x.4.a", ownedBy("Service", "front", "old"))), summary{Adopt: []string{"x.4.a"}}, true},
		"endpoints":            {onlyB(made("x.4.a", ownedBy("Endpoints", "front", "old"))), summary{Adopt: []string{"x.4.a"}}, true},
		"another client's":     {onlyB(made("x.4.a", ownedBy("Service", "back", "other"))), summary{Taken: []string{"x.4.a"}}, false},
		"nobody's":             {onlyB(made("x.4.a", unlabelled, unowned)), summary{Taken: []string{"x.4.a"}}, false},
		"terminating":          {onlyB(made("x.4.a", going)), summary{Waiting: []string{"x.4.a"}}, false},
		"unowned, terminating": {onlyB(made("x.4.a", unlabelled, unowned, going)), summary{Waiting: []string{"x.4.a"}}, false},

		"not wanted":                      {both(made("x.4.c", unrelated)), summary{Stale: []string{"x.4.c"}}, true},
		"not wanted, terminating":         {both(made("x.4.c", unrelated, going)), summary{}, true},
		"not wanted, of the endpoints":    {both(made("x.4.c", unrelated, ownedBy("Endpoints", "front", "old"))), summary{Stale: []string{"x.4.c"}}, true},
		"not wanted, another client's":    {both(made("x.4.c", unrelated, ownedBy("Service", "back", "other"))), summary{}, true},
		"not wanted, of other endpoints":  {both(made("x.4.c", unrelated, ownedBy("Endpoints", "back", "old"))), summary{}, true},
		"not wanted, a name of a user":    {both(made("my-own", unrelated)), summary{}, true},
		"another version":                 {both(made("x.3.a"), made("x.5.b")), summary{Former: []string{"x.3.a", "x.5.b"}}, true},
		"another version, to be replaced": {[]*midonetv1.Translation{made("x.3.a"), &want[1]}, summary{Create: []string{"x.4.a"}, Former: []string{"x.3.a"}}, true},
		"another version, still needed": {[]*midonetv1.Translation{made("x.3.a"), made("x.4.a", going), &want[1]},
			summary{Waiting: []string{"x.4.a"}, Former: []string{"x.3.a"}}, false},

		"holds a resource":                 {[]*midonetv1.Translation{made("x.4.c"), &want[1]}, summary{Obstacles: []string{"x.4.c"}}, false},
		"holds a resource, is terminating": {[]*midonetv1.Translation{made("x.4.c", going), &want[1]}, summary{Waiting: []string{"x.4.c"}}, false},
		"holds a resource of one that is there": {both(made("x.4.c")),
			summary{Stale: []string{"x.4.c"}}, true},
		"holds a resource to add": {[]*midonetv1.Translation{made("x.4.a", unrelated), made("x.4.c"), &want[1]},
			summary{Obstacles: []string{"x.4.c"}}, false},
		"holds a resource, of the endpoints, another version": {[]*midonetv1.Translation{made("x.3.a", ownedBy("Endpoints", "front", "old")), &want[1]},
			summary{Obstacles: []string{"x.3.a"}}, false},
		"holds a resource under another parent": {[]*midonetv1.Translation{made("x.4.c", func(t *midonetv1.Translation) { t.Resources[0].Parent = hostA }), &want[1]},
			summary{Obstacles: []string{"x.4.c"}}, false},
		"the rest of the stale": {[]*midonetv1.Translation{made("x.4.c"), made("x.4.d", unrelated), made("x.3.b"), &want[1]},
			summary{Obstacles: []string{"x.4.c"}, Stale: []string{"x.4.d"}, Former: []string{"x.3.b"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			existing := map[string]*midonetv1.Translation{}
			for _, translation := range tc.existing {
				existing[translation.Name] = translation
			}
			p, err := newPlan(testOwner(), true, want, existing)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, summarized(p)); diff != "" {
				t.Error(diff)
			}
			if p.complete() != tc.complete {
				t.Errorf("complete: %v", p.complete())
			}
		})
	}
}

// TestPatch checks that a patch has the differences and the preconditions, and nothing else.
func TestPatch(t *testing.T) {
	want := made("x.4.a")
	guard := `"resourceVersion":"7","uid":"uid-x.4.a"`
	for name, tc := range map[string]struct {
		current *midonetv1.Translation
		want    string
	}{
		"the same": {made("x.4.a"), ""},
		"resources": {made("x.4.a", having()),
			`{"metadata":{` + guard + `},"resources":[{"kind":"Port","parent":"` + hostB + `","body":"{\"id\":\"` + hostA + `\",\"type\":\"Bridge\"}"}]}`},
		"owner": {made("x.4.a", ownedBy("Endpoints", "front", "old")),
			`{"metadata":{"labels":{"midonet.org/owner-uid":"new"},"ownerReferences":[{"apiVersion":"v1","kind":"Service","name":"front","uid":"new"}],` + guard + `}}`},
		"finalizer": {made("x.4.a", func(t *midonetv1.Translation) { t.Finalizers = []string{"other/one"} }),
			`{"metadata":{"finalizers":["other/one","midonet.org/deleter"],` + guard + `}}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := changesOf(testOwner(), tc.current, want)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want == "" || got == nil {
				if string(got) != tc.want {
					t.Errorf("%s", got)
				}
				return
			}
			var a, b any
			if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(tc.want), &b) != nil {
				t.Fatalf("%s\n%s", got, tc.want)
			}
			if diff := cmp.Diff(b, a); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestKeys checks that the keys of an owner are those of the index.
func TestKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		translation *midonetv1.Translation
		owner       convert.Owner
		found       bool
	}{
		"ours":                   {made("x.4.a"), testOwner(), true},
		"own, unlabelled":        {made("x.4.a", unlabelled), testOwner(), true},
		"own, unowned":           {made("x.4.a", unowned), testOwner(), true},
		"of the endpoints":       {made("x.4.a", ownedBy("Endpoints", "front", "old")), testOwner(), true},
		"of other endpoints":     {made("x.4.a", ownedBy("Endpoints", "back", "old")), testOwner(), false},
		"another client's":       {made("x.4.a", ownedBy("Service", "back", "old")), testOwner(), false},
		"global":                 {made("x.4.a", labelled(midonetv1.LabelGlobal, ""), unowned), convert.Owner{}, true},
		"owned is not global":    {made("x.4.a"), convert.Owner{}, false},
		"global is not an owned": {made("x.4.a", labelled(midonetv1.LabelGlobal, ""), unowned), testOwner(), false},
		"endpoints are not of a pod": {made("x.4.a", ownedBy("Endpoints", "front", "old")),
			convert.Owner{Kind: convert.KindPod, Namespace: "shop", Name: "front", UID: "new"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			keys := translationKeys(tc.translation)
			found := slices.ContainsFunc(keysOf(tc.owner), func(key string) bool { return slices.Contains(keys, key) })
			if found != tc.found {
				t.Errorf("match of keys %q and %q = %t, want %t", keys, keysOf(tc.owner), found, tc.found)
			}
		})
	}
}

// TestHoldersOfAnotherBackend checks that the owners of conflicting resources are found for the kinds of every backend, not only
// MidoNet.
func TestHoldersOfAnotherBackend(t *testing.T) {
	row := func(parent string) midonetv1.BackendResource {
		return midonetv1.BackendResource{Kind: "LogicalSwitchPort", Parent: parent, Body: `{"id":"` + hostA + `"}`}
	}
	holder := made("x.4.c", having(row(hostA)))
	holders := newHolders(testOwner(), []*midonetv1.Translation{holder})
	if got := holders.of(made("x.4.a", having(row(hostB)))); len(got) != 1 || got[0] != holder {
		t.Errorf("holders = %v, want the one", got)
	}
}

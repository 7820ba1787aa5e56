// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
)

// Lines that cannot be imported are named with line, object and field.
func TestDecodeErrorsNameFieldAndLine(t *testing.T) {
	resources, err := Resources()
	must(t, err)
	good, err := runtime.Encode(resources[0].Codec, aProject("good", "garden-good"))
	must(t, err)
	change := func(old, with string) string {
		t.Helper()
		if !strings.Contains(string(good), old) {
			t.Fatalf("there is no %s in %s", old, good)
		}
		return strings.Replace(string(good), old, with, 1)
	}
	for name, test := range map[string]struct {
		line    string
		broken  string
		invalid string
	}{
		"good":                 {change("uid-good", "uid-other-good"), "", ""},
		"another group":        {change("core.gardener.cloud/v1beta1", "example.com/v1"), "line 3: a Project of example.com/v1 is nothing that this server stores", ""},
		"another version":      {change("core.gardener.cloud/v1beta1", "core.gardener.cloud/v1"), "line 3: a Project of core.gardener.cloud/v1 is nothing", ""},
		"another kind":         {change(`"kind":"Project"`, `"kind":"ProjectList"`), "line 3: a ProjectList", ""},
		"no JSON":              {"{", "line 3: unexpected end of JSON", ""},
		"no object":            {"7", "line 3: json: cannot unmarshal number", ""},
		"a field of tomorrow":  {change(`"spec":{`, `"spec":{"colour":"green",`), `line 3: strict decoding error: unknown field "spec.colour"`, ""},
		"a field of two kinds": {change(`"generation":3`, `"generation":"three"`), "line 3: ", ""},
		"no name":              {change(`"name":"good"`, `"name":""`), `line 3: Project "": metadata.name`, ""},
		"a path for a name":    {change(`"name":"good"`, `"name":"../good"`), `line 3: Project "../good": metadata.name`, ""},
		"no uid":               {change("uid-good", ""), `line 3: Project "good": metadata.uid: it has none`, ""},
		"no time":              {change(`"creationTimestamp"`, `"deletionTimestamp"`), `line 3: Project "good": metadata.creationTimestamp: it has none`, ""},
		"a namespace":          {change(`"name":"good"`, `"name":"good","namespace":"team"`), `line 3: Project "team/good": metadata.namespace: objects of this kind live in no namespace`, ""},
		"twice":                {string(good), `line 3: Project "good": it is on line 2 too`, ""},
		"another of its uid":   {change(`"name":"good"`, `"name":"better"`), `line 3: Project "better": metadata.uid: the object on line 2 has it too`, ""},
		"not valid": {strings.Replace(change("garden-good", "kube-system"), "uid-good", "uid-bad", 1) /* of another name */, "",
			`line 3: Project "bad": spec.namespace: Invalid value: "kube-system"`},
	} {
		t.Run(name, func(t *testing.T) {
			line := test.line
			if test.broken == "" {
				line = strings.Replace(line, `"name":"good"`, `"name":"bad"`, 1)
			}
			objects, problems := decode(t, &backup.File{Lines: [][]byte{bytes.TrimSpace(good), []byte(strings.TrimSpace(line))}})
			check := func(what, want string, got []error) {
				if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.HasPrefix(got[0].Error(), want)) {
					t.Errorf("%s: %v, want %q", what, got, want)
				}
			}
			check("broken", test.broken, problems.Broken)
			check("invalid", test.invalid, problems.Invalid)
			if want := map[bool]int{true: 2, false: 1}[test.broken == ""]; len(objects) != want {
				t.Errorf("%d objects were read", len(objects))
			}
		})
	}
	_, problems := decode(t, &backup.File{Header: backup.Header{Resources: []backup.Count{{Group: "core.gardener.cloud", Version: "v1beta1", Kind: "Project", Resource: "projects", Objects: 2}}},
		Lines: [][]byte{bytes.TrimSpace(good)}})
	if len(problems.Broken) != 1 || problems.Broken[0].Error() != "the file has 1 objects of projects.core.gardener.cloud, its first line specifies 2" {
		t.Errorf("counts: %v", problems.Broken)
	}
}

// TestDecodeRejectsPaths checks that the name and the namespace of an object cannot be a path, by which it would be stored as, or below,
// another one: under a key that the API does not serve, or as a name reservation.
func TestDecodeRejectsPaths(t *testing.T) {
	resources, err := Resources()
	must(t, err)
	for _, odd := range []string{"..", ".", "../team", "team/..", "team/us", "/team", "team/", "a//b", "../../claims/gimbal.heptio.com", "team%2fus"} {
		for what, object := range map[string]*gimbalv1.DiscoveryBackend{"name": aBackend("team", odd), "namespace": aBackend(odd, "us")} {
			t.Run(what+" "+odd, func(t *testing.T) {
				resource := resources[slices.IndexFunc(resources, func(r backup.Resource) bool { return r.Kind == "DiscoveryBackend" })]
				line, err := runtime.Encode(resource.Codec, object)
				must(t, err)
				objects, problems := decode(t, &backup.File{Lines: [][]byte{bytes.TrimSpace(line)}})
				if len(objects) > 0 || len(problems.Broken) != 1 || !strings.Contains(problems.Broken[0].Error(), "metadata.name, metadata.namespace") {
					t.Errorf("decode: %d objects, problems %v, want one that names the fields", len(objects), problems)
				}
			})
		}
	}
}

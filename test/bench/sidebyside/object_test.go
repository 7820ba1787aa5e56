// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/midonet/validation"
)

func TestObjectRoundTrips(t *testing.T) {
	want := newTranslation("space", nameOf(7), 7, "a value")
	for name, encoding := range map[string]struct {
		encode  encoder
		version string
	}{
		"JSON of the CRD":       {jsonAs(crdGroup), crdGroup + "/v1"},
		"JSON of Groundskeeper": {jsonAs(midonetv1.GroupName), "midonet.org/v1"},
		"protobuf":              {asProtobuf, "midonet.org/v1"},
	} {
		body, err := encoding.encode(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decode(body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.Kind != "Translation" || got.APIVersion != encoding.version {
			t.Errorf("%s: it is a %s of %s", name, got.Kind, got.APIVersion)
		}
		got.TypeMeta = want.TypeMeta
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if want.APIVersion != "" {
		t.Error("encoding changed the object")
	}
}

// TestBodyHasNoStatus checks that a created object has no fields that only a server writes.
func TestBodyHasNoStatus(t *testing.T) {
	body, err := jsonAs(crdGroup)(newTranslation("space", nameOf(0), 0, ""))
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(body, &content); err != nil {
		t.Fatal(err)
	}
	if _, has := content["status"]; has {
		t.Errorf("it has a status: %s", body)
	}
	if metadata, _ := content["metadata"].(map[string]any); metadata["creationTimestamp"] != nil {
		t.Errorf("it has a time of creation: %s", body)
	}
}

func TestObjectIsValid(t *testing.T) {
	first, second := newTranslation("space", nameOf(0), 0, ""), newTranslation("space", nameOf(1), 1, "")
	elsewhere := newTranslation("another", nameOf(0), 0, "")
	for _, object := range []*midonetv1.Translation{first, second, elsewhere} {
		if errs := validation.ValidateTranslation(object); len(errs) > 0 {
			t.Errorf("Groundskeeper's server would reject it: %v", errs.ToAggregate())
		}
	}
	if len(first.Resources) != 2 {
		t.Errorf("%d resources, not %d", len(first.Resources), 2)
	}
	if first.Name == second.Name || first.Resources[0].Body == second.Resources[0].Body {
		t.Error("two objects are the same")
	}
	if first.Resources[0].Body == elsewhere.Resources[0].Body || len(first.Resources[0].Body) != len(elsewhere.Resources[0].Body) {
		t.Errorf("Groundskeeper's server would reject it, or have more to store: %s, %s", first.Resources[0].Body, elsewhere.Resources[0].Body)
	}
}

func TestDecodeRejects(t *testing.T) {
	for _, response := range []string{"", "{", "no protobuf", "k8s\x00\xff"} {
		if got, err := decode([]byte(response)); err == nil {
			t.Errorf("%q is %+v", response, got)
		}
	}
}

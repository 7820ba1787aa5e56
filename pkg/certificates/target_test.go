// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSetBundle(t *testing.T) {
	type object = map[string]any
	hook := func(config object) any { return object{"name": "a", "clientConfig": config} }
	for name, tc := range map[string]struct {
		target       Target
		before, want object
		changed      bool
	}{
		"APIService": {APIService("x"), object{"spec": object{"service": object{}, "group": "g"}}, object{"spec": object{"service": object{}, "group": "g", "caBundle": "B"}}, true},
		"the same":   {APIService("x"), object{"spec": object{"service": object{}, "caBundle": "B"}}, object{"spec": object{"service": object{}, "caBundle": "B"}}, false},
		"another":    {APIService("x"), object{"spec": object{"service": object{}, "caBundle": "A"}}, object{"spec": object{"service": object{}, "caBundle": "B"}}, true},
		"insecure":   {APIService("x"), object{"spec": object{"service": object{}, "insecureSkipTLSVerify": true}}, object{"spec": object{"service": object{}, "caBundle": "B"}}, true},
		"local":      {APIService("x"), object{"spec": object{"group": "g"}}, object{"spec": object{"group": "g"}}, false},
		"webhooks":   {ValidatingWebhooks("x"), object{"webhooks": []any{hook(object{"url": "u"}), hook(object{"caBundle": "B"})}}, object{"webhooks": []any{hook(object{"url": "u", "caBundle": "B"}), hook(object{"caBundle": "B"})}}, true},
		"all have":   {ValidatingWebhooks("x"), object{"webhooks": []any{hook(object{"caBundle": "B"})}}, object{"webhooks": []any{hook(object{"caBundle": "B"})}}, false},
		"no webhook": {ValidatingWebhooks("x"), object{}, object{}, false},
	} {
		changed, err := tc.target.set(tc.before, "B")
		if diff := cmp.Diff(tc.want, tc.before); err != nil || changed != tc.changed || diff != "" {
			t.Errorf("%s: %t, %v %s", name, changed, err, diff)
		}
	}
	if _, err := ValidatingWebhooks("x").set(object{"webhooks": []any{"x"}}, "B"); err == nil {
		t.Error("a webhook that is no object")
	}
}

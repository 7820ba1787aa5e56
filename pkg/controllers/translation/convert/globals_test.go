// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import "testing"

func TestGlobals(t *testing.T) {
	config := settings()
	config.TunnelZoneName = "Second <zone>"
	result := Globals(config)
	zone := fields(t, resources(t, result, "midonet-global.4.tunnel-zone")[0])
	expect(t, zone["name"], any("Second <zone>"))
	expect(t, zone["id"], any("51329ede-9b0f-5923-98ee-bf4ef08af54f")) // the same zone under another name
	for _, translation := range result.Translations {
		if translation.Namespace != "kube-system" || len(translation.OwnerReferences) > 0 {
			t.Errorf("%s/%s has the owners %v", translation.Namespace, translation.Name, translation.OwnerReferences)
		}
	}
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func TestServicesOfOthers(t *testing.T) {
	for name, tc := range map[string]struct {
		paths    []string
		manifest string
		want     string
	}{
		"VirtualService": {[]string{"spec.http[].route[].destination.host", "spec.tcp[].route[].destination.host"}, `
metadata: {namespace: shop, name: web}
spec:
  http:
  - route: [{destination: {host: us-web}}, {destination: {host: us-api.bank}}]
  - route: [{destination: {host: us-web.shop.svc.cluster.local.}}, {destination: {host: www.example.com}}, {weight: 1}]
`, "shop/us-web bank/us-api"},
		"Route": {[]string{"spec.to.name", "spec.alternateBackends[].name"}, `
metadata: {namespace: shop, name: web}
spec: {to: {kind: Service, name: us-web}, alternateBackends: [{name: eu-web}]}
`, "shop/us-web shop/eu-web"},
		"another shape": {[]string{"spec.to.name", "spec.to[].name", "spec.port.name"}, `
metadata: {namespace: shop, name: web}
spec: {to: [us-web], port: {name: 80}}
`, ""},
	} {
		content := map[string]any{}
		if err := yaml.Unmarshal([]byte(tc.manifest), &content); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, service := range otherOf(content, tc.paths).services {
			got = append(got, service.NamespacedName.String())
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// An ExtensionService has weights that maintenance does not change: the endpoints of its Service are withheld, and the status
// names it. With KeepSole it keeps its requests.
func TestOtherKinds(t *testing.T) {
	inWorld(t, func(w *world) {
		kind := w.watches.cluster.others[0]
		w.add(kind.WithVersion("v1alpha1"), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "projectcontour.io/v1alpha1", "kind": "ExtensionService", "metadata": map[string]any{"namespace": "shop", "name": "auth"},
			"spec": map[string]any{"services": []any{map[string]any{"name": "us-web", "port": int64(80)}}},
		}})
		synctest.Wait()
		w.mustCheck("us")
		w.cluster("us", "clusterStatus", "Maintenance")
		w.mustCorrect(1)
		for range 3 {
			w.mustCheck("us")
		}
		got := w.stored("us").Status
		if condition := w.mustCheck("us"); condition != "True/Drained" || !got.EndpointsDrained || len(got.Errors) != 1 || got.Errors[0].Type != gimbalv1.ErrorNotDrained ||
			!strings.Contains(got.Errors[0].Message, "ExtensionService shop/auth") {
			w.Errorf("%s: %+v", condition, got)
		}
		if withheld := serviceNames(w.ready.services.Withhold).UnsortedList(); !slices.Equal(withheld, []string{"us-web"}) {
			w.Errorf("withheld: %q", withheld)
		}
		w.cluster("us", "drainPolicy", "KeepSole")
		w.mustCheck("us")
		w.setReady("us-web", true)
		if condition := w.mustCheck("us"); condition != "True/Drained" || w.stored("us").Status.EndpointsDrained || len(w.stored("us").Status.Errors) != 1 {
			w.Errorf("with KeepSole: %s, %+v", condition, w.stored("us").Status)
		}
	}, shared)
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"
	"strings"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// foreignLabels are labels by which other controllers find the objects that they deploy, mirror, ignore or delete. A copy that had them
// would be taken for such an object. The list cannot be complete: it is for labels by which services are selected, and for copies that
// have such labels from a version that copied all others. A key that ends with a slash stands for all keys with this prefix.
var foreignLabels = []string{
	// Argo CD deletes what has the label of an application and is not in its manifests; the first key was its default up to
	// version 2.
	"app.kubernetes.io/instance", "argocd.argoproj.io/",
	// kubectl apply --prune, kapp, kpt, Rancher and Kustomize delete what has the label of a set and is not in it.
	"applyset.kubernetes.io/", "kapp.k14s.io/", "cli-utils.sigs.k8s.io/", "objectset.rio.cattle.io/", "fleet.cattle.io/",
	"config.kubernetes.io/",
	"helm.toolkit.fluxcd.io/", "kustomize.toolkit.fluxcd.io/", "helm.sh/",
	"olm.owner", "olm.owner.kind", "olm.owner.namespace", "olm.managed", "operators.coreos.com/",
	// The addon manager deletes what has this label and is not in its directory.
	"addonmanager.kubernetes.io/", "kubernetes.io/cluster-service",
	// Linkerd mirrors exported Services into other clusters, and deletes mirrors without a source.
	"mirror.linkerd.io/",
	"multicluster.kubernetes.io/", "multicluster.x-k8s.io/",
	// kube-proxy and the controllers of endpoints ignore objects with these labels.
	"service.kubernetes.io/", "endpointslice.kubernetes.io/", "kubernetes.io/service-name",
	"istio.io/", "networking.istio.io/",
	"serving.knative.dev/", "networking.internal.knative.dev/",
	"gateway.networking.k8s.io/", "gateway.envoyproxy.io/",
}

// Labels decides which labels of a service its copy has. The zero value copies those that Groundskeeper gives a service.
type Labels struct {
	// Include are keys that are copied, Exclude are keys that are not, and take precedence. A key that ends with a slash stands for all
	// keys with this prefix.
	Include, Exclude []string
	// Selected are the keys by which services are selected. They are copied, except those by which other controllers would act on the copy.
	Selected []string
	// Add are labels that every copy has.
	Add map[string]string
}

// Of returns the labels of the copy of a service with these labels. The copy may exist and have labels of a version that copied all
// except those of other controllers: they stay as long as the service has them, because users may select copies by them.
func (l Labels) Of(labels, have map[string]string) map[string]string {
	copied := make(map[string]string, len(l.Add))
	for key, value := range labels {
		if _, had := have[key]; l.copies(key, had) {
			copied[key] = value
		}
	}
	maps.Copy(copied, l.Add)
	return copied
}

func (l Labels) copies(key string, had bool) bool {
	switch {
	case matches(l.Exclude, key):
		return false
	case matches(l.Include, key), gimbalv1.IsReservedKey(key):
		return true
	}
	return (had || slices.Contains(l.Selected, key)) && !matches(foreignLabels, key)
}

// matches reports whether a key is in a list, or has a prefix that is.
func matches(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(listed string) bool {
		return key == listed || strings.HasSuffix(listed, "/") && strings.HasPrefix(key, listed)
	})
}

// Annotations returns those of annotations that have one of the keys, nil if there is none.
func Annotations(annotations map[string]string, keys []string) map[string]string {
	var found map[string]string
	for _, key := range keys {
		if value, ok := annotations[key]; ok {
			if found == nil {
				found = map[string]string{}
			}
			found[key] = value
		}
	}
	return found
}

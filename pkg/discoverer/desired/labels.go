// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"slices"
	"strings"
)

// foreignLabels are the labels by which other controllers find the objects that they deploy, mirror, ignore or delete. A copy
// that had them would be taken for such an object. A key that ends with a slash stands for all keys with this prefix.
var foreignLabels = []string{
	// Argo CD deletes what has the label of an application and is not in its manifests; the first key was its default up to
	// version 2.
	"app.kubernetes.io/instance", "argocd.argoproj.io/",
	"helm.toolkit.fluxcd.io/", "kustomize.toolkit.fluxcd.io/",
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

// Labels decides which labels of a service its copy has. The zero value excludes those by which other controllers would act on
// the copy.
type Labels struct {
	// Include are keys that are copied although they are excluded by default, Exclude are further keys that are not copied, and
	// take precedence. A key that ends with a slash stands for all keys with this prefix.
	Include, Exclude []string
	// Add are labels that every copy has.
	Add map[string]string
}

// Of returns the labels of the copy of a service with these labels. They may be the same map.
func (l Labels) Of(labels map[string]string) map[string]string {
	kept := labels
	for key := range labels {
		if l.excludes(key) {
			if len(kept) == len(labels) {
				kept = maps.Clone(labels)
			}
			delete(kept, key)
		}
	}
	if len(l.Add) == 0 {
		return kept
	}
	all := make(map[string]string, len(kept)+len(l.Add))
	maps.Copy(all, kept)
	maps.Copy(all, l.Add)
	return all
}

func (l Labels) excludes(key string) bool {
	return matches(l.Exclude, key) || matches(foreignLabels, key) && !matches(l.Include, key)
}

// matches reports whether a key is in a list, or has a prefix that is.
func matches(keys []string, key string) bool {
	return slices.ContainsFunc(keys, func(listed string) bool {
		return key == listed || strings.HasSuffix(listed, "/") && strings.HasPrefix(key, listed)
	})
}

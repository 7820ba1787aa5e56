// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/docs"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// docsOf returns the page of the documentation about the findings of an object.
func docsOf(object client.Object) string {
	deleted := !object.GetDeletionTimestamp().IsZero()
	switch o := object.(type) {
	case *gardenerv1beta1.Project:
		if !deleted && o.Status.StaleSinceTimestamp != nil {
			return "stale-projects.md"
		}
		return "projects.md"
	case *kubernikusv1.Kluster:
		if deleted {
			return "deorbit.md"
		}
		return "klusters.md"
	case *gimbalv1.DiscoveryBackend:
		if o.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance {
			return "backend-maintenance.md"
		}
		return "backend-add.md"
	case *midonetv1.Translation:
		return "translations.md"
	}
	return ""
}

// docsRoutes serves the pages of the documentation of this version, as their text.
func docsRoutes(mux *http.ServeMux) {
	files := http.StripPrefix("/docs/", http.FileServerFS(docs.Pages))
	mux.HandleFunc("GET /docs/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		files.ServeHTTP(w, r)
	})
}

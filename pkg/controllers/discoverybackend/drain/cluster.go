// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

// clusterOf returns what identifies the cluster of a backend, "" for no backend.
func clusterOf(backends Backends, backend string) string {
	if clusters, ok := backends.(Clusters); ok && backend != "" {
		return clusters.ClusterOf(backend)
	}
	return backend
}

// sameCluster reports whether two references lead to one cluster.
func (s *standing) sameCluster(i, j int) bool {
	return s.clusters[i] != "" && s.clusters[i] == s.clusters[j]
}

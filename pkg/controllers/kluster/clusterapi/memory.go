// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

// rejections are the reasons that were reported last, by Cluster. After a restart, each is reported once more.
type rejections struct {
	mu   sync.Mutex
	last map[types.NamespacedName]desired.Rejection
}

// isNew records a rejection, and reports whether it differs from the last one.
func (r *rejections) isNew(key types.NamespacedName, now desired.Rejection) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last[key] == now {
		return false
	}
	if delete(r.last, key); now.Reason != "" {
		if r.last == nil {
			r.last = map[types.NamespacedName]desired.Rejection{}
		}
		r.last[key] = now
	}
	return now.Reason != ""
}

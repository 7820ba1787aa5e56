// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterid

import gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"

// Groups returns which objects lead to the same cluster, by what their clusters reported of themselves: it maps the name of an object to
// that of its group, which is the first name in it. Two are in one group if Compare proves them to be the same, directly or by
// way of others. An object whose identity is unknown is alone in its group.
func Groups(identities map[string][]gimbalv1.ClusterIdentity) map[string]string {
	groups := make(map[string]string, len(identities))
	first := func(name string) string {
		for groups[name] != name {
			name = groups[name]
		}
		return name
	}
	holders := map[gimbalv1.ClusterIdentity]string{}
	for name, identity := range identities {
		if groups[name] == "" {
			groups[name] = name
		}
		for _, characteristic := range identity {
			if characteristic.ID == "" {
				continue
			}
			holder, held := holders[characteristic]
			if !held {
				holders[characteristic] = name
				continue
			}
			one, other := first(holder), first(name)
			groups[max(one, other)] = min(one, other)
		}
	}
	for name := range groups {
		groups[name] = first(name)
	}
	return groups
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deletionconfirmation

import (
	"fmt"
	"strings"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// backendWarning returns what the deletion of a DiscoveryBackend does to routes, "" when no route refers to it.
func backendWarning(b *gimbalv1.DiscoveryBackend) string {
	routes := b.Status.Routes
	switch {
	case routes == nil || routes.Matching == 0:
		return ""
	case routes.WithoutAlternative == nil || routes.WithoutAlternative.Count == 0:
		return fmt.Sprintf("the deletion of DiscoveryBackend %s removes its references from %s; all of them have another backend", b.Name, count(routes.Matching, "route"))
	}
	alone := routes.WithoutAlternative
	named := strings.Join(alone.Names, ", ")
	if more := int(alone.Count) - len(alone.Names); more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("the deletion of DiscoveryBackend %s removes its references from %s, and leaves no backend for the requests of %s: %s",
		b.Name, count(routes.Matching, "route"), count(alone.Count, "route"), named)
}

func count(n int32, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

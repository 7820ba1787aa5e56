// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package protectedmetadata

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Verbs that no request has: admission requests them when a request changes what they protect.
const (
	// VerbManageFinalizers allows to remove the finalizers of Groundskeeper's controllers.
	VerbManageFinalizers = "manage-finalizers"
	// VerbPause allows to pause an object, and to resume it.
	VerbPause = "pause"
	// VerbDetach allows to steer the deletion of a Kluster: to have it released though what it left behind was not cleaned up, and to have
	// it continue though another Kluster may lead to the same cluster.
	VerbDetach = "detach"
	// VerbProtect allows to protect a Kluster from its deletion, which also stops one that has begun.
	VerbProtect = "protect"
	// VerbCheckDrift allows to have the whole backend of Translations compared now.
	VerbCheckDrift = "check-drift"
	// VerbConfirmCluster allows to confirm that another cluster replaces the one that a DiscoveryBackend copied.
	VerbConfirmCluster = "confirm-cluster"
	// VerbManageClusterAPI allows to bind a Kluster to a Cluster of Cluster API, and to report about its Machines.
	VerbManageClusterAPI = "manage-cluster-api"
)

// annotation is an annotation that steers a controller, and the verb that a user needs to change it.
type annotation struct{ key, verb string }

// annotations returns those that steer Groundskeeper's controllers. They are protected on all kinds, whichever controller reads
// them. The confirmation of a deletion is not among them: who may delete is decided when the object is deleted.
func annotations() []annotation {
	return []annotation{
		{kit.AnnotationPaused, VerbPause},
		{kubernikusv1.DetachAnnotation, VerbDetach},
		{kubernikusv1.SelfDestructAnnotation, VerbDetach},
		{kubernikusv1.AcceptUnknownIdentityAnnotation, VerbDetach},
		{kubernikusv1.TerminationProtectionAnnotation, VerbProtect},
		{"midonet.org/check-drift", VerbCheckDrift},
		{gimbalv1.AnnotationConfirmedCluster, VerbConfirmCluster},
		{kubernikusv1.ClusterAPIUIDAnnotation, VerbManageClusterAPI},
		{kubernikusv1.MachinesAnnotation, VerbManageClusterAPI},
		{kubernikusv1.ControlPlaneAnnotation, VerbManageClusterAPI},
		{kubernikusv1.PausedWithClusterAnnotation, VerbManageClusterAPI},
	}
}

// finalizers returns those that Groundskeeper's controllers remove when their work for an object is done; nil when the kind is not
// Groundskeeper's.
func finalizers(resource schema.GroupResource) []string {
	switch resource {
	case gardenerv1beta1.Resource("projects"):
		return []string{gardenerv1beta1.FinalizerName}
	case kubernikusv1.Resource("klusters"):
		return []string{kubernikusv1.DeorbiterFinalizer, kubernikusv1.ImportedDeorbiterFinalizer, kubernikusv1.ClusterAPIFinalizer}
	case midonetv1.Resource("translations"):
		return []string{midonetv1.FinalizerName}
	case gimbalv1.Resource("discoverybackends"):
		return []string{gimbalv1.FinalizerName}
	default:
		return nil
	}
}

// need is a verb and the fields for which it is needed.
type need struct {
	verb    string
	changes []string
}

// needs returns the verbs that a change of metadata needs, each once; old is nil when the object is created. An annotation
// counts at creation too: an object that is created detached would be as little cleaned up as one that is detached later.
func needs(object, old metav1.Object, own []string) []need {
	var all []need
	add := func(verb, change string) {
		i := slices.IndexFunc(all, func(n need) bool { return n.verb == verb })
		if i < 0 {
			all, i = append(all, need{verb: verb}), len(all)
		}
		all[i].changes = append(all[i].changes, change)
	}
	var before map[string]string
	if old != nil {
		before = old.GetAnnotations()
		for _, name := range own {
			if slices.Contains(old.GetFinalizers(), name) && !slices.Contains(object.GetFinalizers(), name) {
				add(VerbManageFinalizers, fmt.Sprintf("metadata.finalizers (remove %q)", name))
			}
		}
	}
	now := object.GetAnnotations()
	for _, a := range annotations() {
		value, is := now[a.key]
		if was, had := before[a.key]; is != had || value != was {
			add(a.verb, fmt.Sprintf("metadata.annotations[%s]", a.key))
		}
	}
	return all
}

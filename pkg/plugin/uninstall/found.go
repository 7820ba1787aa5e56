// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// Found is what there is of an installation.
type Found struct {
	// Registrations are those of ours, as "kind name". Served are the groups of the APIServices among them: objects of
	// other groups are somebody else's, or nobody's any more.
	Registrations []string
	Served        sets.Set[string]
	// Unavailable are APIServices of ours that do not answer, with the reason.
	Unavailable []string
	// NeverServed reports that none of them ever answered, so that there are no objects. ServedBefore is the evidence against
	// it, where none of them answers.
	NeverServed  bool
	ServedBefore string
	// Stranded are objects whose owner nobody serves any more.
	Stranded []string
	Manager  Manager

	Projects     []gardenerv1beta1.Project
	Klusters     []kubernikusv1.Kluster
	Backends     []gimbalv1.DiscoveryBackend
	Translations []metav1.PartialObjectMetadata
	// Contents are those of the namespaces of Projects and of the installation.
	Contents map[string]Content
	// Namespaces are those of the installation, Parts all else that it is made of, as "resource namespace/name".
	Namespaces, Parts []string
	// Unlisted are groups and resources of the cluster that do not answer, so that nobody can say what is there.
	Unlisted []string
}

// Content is what people have in a namespace. Terminating says that it is being deleted already.
type Content struct {
	Pods, Claims, Secrets int
	Terminating           bool
}

func (f *Found) convertsTranslations() bool {
	return f.Served.Has(midonetv1.GroupName) && f.Manager.Runs(controllerConvert)
}

// stopsConverter says whether the controller that makes Translations has to be stopped. Where an earlier run was left, the
// Deployment has the configuration without it already, and a pod of before may still be at work.
func (f *Found) stopsConverter() bool {
	return f.convertsTranslations() || f.Served.Has(midonetv1.GroupName) && f.Manager.Reconfigured && f.Manager.Silent == ""
}

// withdrawsKlusters says whether announcements end, and are waited for, before their Klusters go.
func (f *Found) withdrawsKlusters(o Options) bool {
	return f.Served.Has(kubernikusv1.GroupName) && o.Klusters != Deorbit && f.Manager.Runs(controllerAnnounce)
}

// empty says that nothing is there at all.
func (f *Found) empty() bool {
	return len(f.Registrations)+len(f.Namespaces)+len(f.Parts) == 0
}

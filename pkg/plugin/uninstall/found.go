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
	// Registrations are those of Groundskeeper, as "kind name". Served are the groups of the APIServices among them: objects of
	// other groups are served by another server, or not any more.
	Registrations []string
	Served        sets.Set[string]
	// Unavailable are APIServices of Groundskeeper that are unavailable, with the reason.
	Unavailable []string
	// NeverServed reports that none of them ever responded, so that there are no objects. ServedBefore is the evidence against
	// it, if none of them responds.
	NeverServed  bool
	ServedBefore string
	// Stranded are objects whose owner is not served any more.
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
	// Unlisted are groups and resources of the cluster that are unavailable, so that their objects are unknown.
	Unlisted []string
}

// Content is what users have in a namespace. Terminating reports that it is being deleted already.
type Content struct {
	Pods, Claims, Secrets int
	Terminating           bool
}

func (f *Found) convertsTranslations() bool {
	return f.Served.Has(midonetv1.GroupName) && f.Manager.Runs(controllerConvert)
}

// stopsConverter reports whether the controller that creates Translations has to be stopped. Where an earlier run was left, the
// Deployment has the configuration without it already, and a pod of before may still be at work.
func (f *Found) stopsConverter() bool {
	return f.convertsTranslations() || f.Served.Has(midonetv1.GroupName) && f.Manager.Reconfigured && f.Manager.Silent == ""
}

// withdrawsKlusters reports whether announcements are withdrawn, and waited for, before their Klusters are deleted.
func (f *Found) withdrawsKlusters(o Options) bool {
	return f.Served.Has(kubernikusv1.GroupName) && o.Klusters != Deorbit && f.Manager.Runs(controllerAnnounce)
}

// empty reports that nothing is installed.
func (f *Found) empty() bool {
	return len(f.Registrations)+len(f.Namespaces)+len(f.Parts) == 0
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"fmt"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// blockers are why a removal cannot begin: what would block it later, or could not be undone.
func blockers(f *Found, o Options) (all []string) {
	for _, service := range f.Unavailable {
		if f.NeverServed {
			break
		}
		if f.Contents[SystemNamespace].Terminating {
			all = append(all, fmt.Sprintf("APIService %s, and %s", service, Terminating))
			continue
		}
		all = append(all, fmt.Sprintf("an API of Groundskeeper is unavailable, so that its objects cannot be removed: APIService %s. Restore "+
			"the API server (docs/install.md); "+
			"if its store is lost, free the cluster: %s", service, UnregisterCommand))
	}
	if f.ServedBefore != "" {
		all = append(all, fmt.Sprintf("the API may have objects, because it was or may have been served before: %s", f.ServedBefore))
	}
	if len(f.Stranded) > 0 {
		all = append(all, fmt.Sprintf("the owners of %s are no longer served, so that Kubernetes does not delete them (%s). Apply the "+
			"manifests again, and then repeat this command",
			plural(len(f.Stranded), "object"), strings.Join(f.Stranded, ", ")))
	}
	if bound := boundToClusters(f.Klusters); bound+len(f.Hooked) > 0 && !f.NeverServed && (!o.abandons(Klusters) || f.mayHook()) {
		all = append(all, fmt.Sprintf("%d Klusters belong to Clusters of Cluster API, and %d of its objects have hooks or finalizers of "+
			"Groundskeeper: deselect these Clusters, "+
			"and wait until the Klusters have been deleted (docs/cluster-api.md). If the controller %q is lost, stop the controller manager, and "+
			"remove them with --abandon=%s",
			bound, len(f.Hooked), controllerClusterAPI, Klusters))
	}
	if len(f.Unavailable) > 0 || f.Served.Len() == 0 {
		return all
	}
	if len(f.Projects)+len(f.Klusters)+len(f.Backends)+len(f.Translations) > 0 {
		all = append(all, withoutController(f, o)...)
	}
	return append(all, rejections(f, o)...)
}

// boundToClusters returns how many Klusters were created for Clusters of Cluster API. Their controller would create them again.
func boundToClusters(klusters []*kubernikusv1.Kluster) (count int) {
	for _, k := range klusters {
		if k.Annotations[kubernikusv1.ClusterAPIUIDAnnotation] != "" {
			count++
		}
	}
	return count
}

// withoutController are objects whose finalizers no controller would remove.
func withoutController(f *Found, o Options) (all []string) {
	m := f.Manager
	if m.Silent != "" {
		if !needsController(f, o) {
			return nil
		}
		return []string{fmt.Sprintf("the controller manager does not work (%s), and no other controller removes the finalizers of its objects. "+
			"Start it, and repeat this command", m.Silent)}
	}
	if m.Config == nil {
		// A controller may recreate Translations, so that they would never all be deleted.
		if !needsController(f, o) && len(f.Translations) == 0 {
			return nil
		}
		return []string{fmt.Sprintf("it is unknown which controllers run, because the configuration of the controller manager is unknown (%s). "+
			"Pass its file with --config", m.Unknown)}
	}
	need := func(count int, title, controller, instead string) {
		if why := m.waits(controller); count > 0 && why != "" {
			all = append(all, fmt.Sprintf("%d %s, and the controller %q, which has to release them, waits: %s%s", count, title, controller, why,
				instead))
		} else if count > 0 && !m.Runs(controller) {
			all = append(all, fmt.Sprintf("%d %s, and the controller %q does not run, which has to release them. "+
				"Enable it (docs/configuration.md)%s", count, title, controller, instead))
		}
	}
	need(len(f.Projects), "Projects", controllerProject, "")
	need(len(f.Backends), "DiscoveryBackends", controllerOperator, "")
	need(len(back(f.Backends)), "DiscoveryBackends in maintenance", controllerMaintenance, "")
	if !o.abandons(Klusters) {
		need(len(f.Klusters), "Klusters", controllerDeorbit, ", or leave their clusters unchanged with --abandon="+Klusters)
	}
	if len(f.Translations) > 0 && !o.abandons(Translations) && !m.takesBack() {
		all = append(all, fmt.Sprintf("%d Translations, and no controller removes their resources from MidoNet: the controller %q does not "+
			"run, or push.mode is plan. Change that, or leave the resources there with --abandon=%s",
			len(f.Translations), controllerPush, Translations))
	}
	if f.convertsTranslations() && !m.Deployed {
		all = append(all, fmt.Sprintf("the controller %q would make Translations again. Restart the controller manager with %q in "+
			"controllers.enabled", controllerConvert, "-"+controllerConvert))
	}
	return all
}

// needsController reports whether there are objects that only a controller releases: all that are not abandoned.
func needsController(f *Found, o Options) bool {
	return len(f.Projects)+len(f.Backends) > 0 ||
		len(f.Klusters) > 0 && !o.abandons(Klusters) ||
		len(f.Translations) > 0 && !o.abandons(Translations)
}

// rejections are objects that the API server or their controller would not release.
func rejections(f *Found, o Options) (all []string) {
	pausedFor := func(kind, name, namespace string) string {
		where := ""
		if namespace != "" {
			where = " --namespace " + namespace
		}
		return fmt.Sprintf("%s %s is paused: kubectl annotate %s%s %s %s-", kind, name, strings.ToLower(kind), where, name, kit.AnnotationPaused)
	}
	for _, p := range f.Projects {
		if kit.IsPaused(p) {
			all = append(all, pausedFor("Project", p.Name, ""))
		}
	}
	for _, k := range f.Klusters {
		if k.TerminationProtected() {
			all = append(all, fmt.Sprintf("Kluster %s is protected: kubectl annotate kluster --namespace %s %s %s-", nameOf(k), k.Namespace, k.Name,
				kubernikusv1.TerminationProtectionAnnotation))
		}
		if kit.IsPaused(k) && (!o.abandons(Klusters) || f.withdrawsKlusters(o) && isWithdrawn(k)) {
			all = append(all, pausedFor("Kluster", k.Name, k.Namespace))
		}
	}
	return all
}

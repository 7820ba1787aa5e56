// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"fmt"
	"strings"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// Plan is what a removal does, in its order, and what is in its way.
type Plan struct {
	Sections []Section `json:"steps"`
	// Blockers keep it from beginning, each with what to do. Warnings do not.
	Blockers []string `json:"blockers,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Nothing reports whether nothing is installed.
	Nothing bool `json:"nothingInstalled,omitempty"`
}

// Section is a part of the plan: what happens, and to what.
type Section struct {
	Title string   `json:"title"`
	Lines []string `json:"objects"`
}

// NewPlan decides what a removal does with what there is.
func NewPlan(f *Found, o Options) Plan {
	p := Plan{Sections: []Section{}, Nothing: f.empty(), Blockers: blockers(f, o)}
	add := func(title string, lines []string) {
		if len(lines) > 0 {
			p.Sections = append(p.Sections, Section{title, lines})
		}
	}
	if f.stopsConverter() && f.Manager.Deployed {
		add("The controller manager restarts without the controllers that make Translations",
			[]string{"ConfigMap " + SystemNamespace + "/" + lastConfig})
	}
	add("DiscoveryBackends come back to service, and routes get the weights that their users wanted", back(f.Backends))
	if o.Klusters == Deorbit {
		add("Klusters are DEORBITED: what their clusters made in OpenStack is deleted", klusters(f.Klusters))
	} else {
		add("Klusters are detached: their clusters and OpenStack are not touched"+behind(o, Klusters), klusters(f.Klusters))
	}
	if o.abandons(Klusters) {
		add("Objects of Cluster API lose the hooks and finalizers of Groundskeeper, and are deleted WITHOUT A CLEANUP of OpenStack",
			f.Hooked)
	}
	add("DiscoveryBackends are deleted, with the Services that they published and the references to them in routes", backends(f.Backends))
	if n := len(f.Translations); n > 0 {
		title := "Translations are deleted, and their resources are removed from MidoNet"
		if o.abandons(Translations) {
			title = "Translations are deleted" + behind(o, Translations)
		}
		add(title, []string{fmt.Sprintf("%d Translations", n)})
	}
	if o.Projects == Delete {
		add("Projects are deleted, and their namespaces WITH ALL THEIR CONTENTS", projects(f))
	} else {
		add("Projects are deleted; their namespaces stay, without the roles of members", projects(f))
	}
	add("Registrations are deleted", f.Registrations)
	add("Objects of the installation are deleted", f.Parts)
	if o.KeepData {
		add("Namespaces of the installation stay, with their volumes (--keep-data)", spaces(f))
	} else {
		add("Namespaces of the installation are deleted WITH ALL THEIR CONTENTS, including volumes", spaces(f))
	}
	p.Warnings = warnings(f)
	return p
}

// behind states that objects of a kind are not cleaned up.
func behind(o Options, kind string) string {
	if !o.abandons(kind) {
		return ""
	}
	return "; their resources are NOT CLEANED UP (--abandon=" + kind + ")"
}

func back(all []*gimbalv1.DiscoveryBackend) (lines []string) {
	for _, b := range all {
		if b.Cluster.ClusterStatus != gimbalv1.ClusterEnabled && b.DeletionTimestamp.IsZero() && !isAnnouncement(b) {
			lines = append(lines, nameOf(b))
		}
	}
	return lines
}

func backends(all []*gimbalv1.DiscoveryBackend) (lines []string) {
	for _, b := range all {
		line := nameOf(b)
		if r := b.Status.Routes; r != nil && r.Matching > 0 {
			line += fmt.Sprintf(": %d routes send to it", r.Matching)
			if alone := r.WithoutAlternative; alone != nil && alone.Count > 0 {
				line += fmt.Sprintf(", %d of them have no other backend and will return errors", alone.Count)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func klusters(all []*kubernikusv1.Kluster) (lines []string) {
	for _, k := range all {
		line := nameOf(k)
		switch d := k.Spec.Discovery; {
		case k.DeletionTimestamp != nil && !k.Detached():
			line += ": is being deorbited already, which is waited for"
		case d != nil && d.Enabled:
			line += ": its announcement is withdrawn, traffic moves to other backends"
		}
		lines = append(lines, line)
	}
	return lines
}

func projects(f *Found) (lines []string) {
	for _, p := range f.Projects {
		lines = append(lines, projectLine(p, f.Contents))
	}
	return lines
}

func projectLine(p *gardenerv1beta1.Project, contents map[string]Content) string {
	line := fmt.Sprintf("%s: %s", p.Name, plural(len(p.Spec.Members), "member"))
	c := contents[p.NamespaceName()]
	if namespace := p.NamespaceName(); namespace != "" {
		line += fmt.Sprintf(", namespace %s with %s and %s", namespace, plural(c.Pods, "pod"), plural(c.Claims, "claim"))
	}
	switch deleted := !p.DeletionTimestamp.IsZero(); {
	case deleted && c.Terminating:
		line += "; is being deleted already, with its namespace"
	case deleted:
		line += "; is being deleted already"
	case c.Terminating:
		line += "; its namespace is being deleted already"
	}
	return line
}

func spaces(f *Found) (lines []string) {
	for _, name := range f.Namespaces {
		c := f.Contents[name]
		lines = append(lines, fmt.Sprintf("%s with %s, %s and %s", name, plural(c.Pods, "pod"), plural(c.Claims, "claim"),
			plural(c.Secrets, "Secret")))
	}
	return lines
}

func plural(count int, what string) string {
	if count == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", count, what)
}

// String returns the plan as text.
func (p Plan) String() string {
	var b strings.Builder
	for i, s := range p.Sections {
		fmt.Fprintf(&b, "%d. %s:\n", i+1, s.Title)
		for _, line := range s.Lines {
			fmt.Fprintf(&b, "     %s\n", line)
		}
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(&b, "Mind: %s\n", w)
	}
	for _, blocker := range p.Blockers {
		fmt.Fprintf(&b, "Blocked by: %s\n", blocker)
	}
	return b.String()
}

// warnings returns what users should know before they confirm.
func warnings(f *Found) (all []string) {
	if f.NeverServed {
		all = append(all, "the API was never served: no store was recorded, and nothing in the cluster belongs to one of its objects. The "+
			"installation is removed without them")
	}
	for _, p := range f.Projects {
		if len(p.Spec.DualApprovalForDeletion) > 0 && len(f.Klusters) > 0 {
			all = append(all, fmt.Sprintf("Project %s requires dual approval: Klusters that this command confirms have to be deleted by another "+
				"user, who runs the same command", p.Name))
		}
	}
	if len(f.Unlisted) > 0 {
		all = append(all, fmt.Sprintf("these groups and resources of the cluster are unavailable, and namespaces cannot be deleted until they "+
			"respond: %s", strings.Join(f.Unlisted, ", ")))
	}
	return all
}

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

type kind struct {
	// title is its name in the plural, names are those that users type.
	title string
	names []string
	// object and list are empty ones.
	object func() client.Object
	list   func() client.ObjectList
	// global kinds have no namespace.
	global bool
	// other are the findings about an object of a kind that is not Groundskeeper's, nil without any.
	other func(client.Object, time.Time) []report.Finding
}

// empty returns a new object, emptyList a new list.
func empty[T any, P interface {
	*T
	client.Object
}]() client.Object {
	return P(new(T))
}

func emptyList[T any, P interface {
	*T
	client.ObjectList
}]() client.ObjectList {
	return P(new(T))
}

// Titles of kinds.
const (
	projectsTitle     = "Projects"
	klustersTitle     = "Klusters"
	backendsTitle     = "DiscoveryBackends"
	translationsTitle = "Translations"
)

func kinds() []kind {
	return []kind{
		{title: projectsTitle, names: []string{"project", "projects"}, global: true, object: empty[gardenerv1beta1.Project],
			list: emptyList[gardenerv1beta1.ProjectList]},
		{title: klustersTitle, names: []string{"kluster", "klusters", "kl"}, object: empty[kubernikusv1.Kluster],
			list: emptyList[kubernikusv1.KlusterList]},
		{title: backendsTitle, names: []string{"discoverybackend", "discoverybackends", "dbe", "backend", "backends"},
			object: empty[gimbalv1.DiscoveryBackend], list: emptyList[gimbalv1.DiscoveryBackendList]},
		{title: translationsTitle, names: []string{"translation", "translations", "tr"}, object: empty[midonetv1.Translation],
			list: emptyList[midonetv1.TranslationList]},
	}
}

// pluralOf returns the plural of a kind for any of its names, as options have it; other words remain, for the validation to reject.
func pluralOf(word string) string {
	for _, k := range kinds() {
		if slices.Contains(k.names, strings.ToLower(word)) {
			return strings.ToLower(k.title)
		}
	}
	return word
}

// parseAs reads NAME, KIND/NAME or KIND NAME of the kind that a command is for.
func parseAs(title string, args []string) (string, error) {
	if len(args) == 1 && !strings.Contains(args[0], "/") {
		return args[0], nil
	}
	k, name, err := parse(args)
	if err == nil && k.title != title {
		err = fmt.Errorf("%q is none of the %s that this command is for", strings.Join(args, " "), title)
	}
	return name, err
}

// parse reads KIND/NAME or KIND NAME.
func parse(args []string) (kind, string, error) {
	name := ""
	words := args
	if len(args) == 1 {
		words = strings.SplitN(args[0], "/", 2)
	}
	if len(words) == 2 {
		name = words[1]
	}
	if name == "" {
		return kind{}, "", fmt.Errorf("%q is not KIND/NAME, like kluster/web", strings.Join(args, " "))
	}
	// The group may follow, as kubectl prints it.
	typed, _, _ := strings.Cut(strings.ToLower(words[0]), ".")
	var known []string
	for _, k := range whyKinds() {
		if slices.Contains(k.names, typed) {
			return k, name, nil
		}
		known = append(known, k.names[0])
	}
	return kind{}, "", fmt.Errorf("%q is not one of these kinds: %s", words[0], strings.Join(known, ", "))
}

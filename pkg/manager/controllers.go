// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// controller is an entry of the list of controllers.
type controller struct {
	// name is what controllers.enabled calls it.
	name string
	// off reports why the configuration disables it, so that it does not run; empty: it runs. nil: it always does.
	off func(config *v1alpha1.ControllersConfiguration) (why string)
	// apis are the group versions it cannot start without.
	apis []schema.GroupVersion
	// waits reports whether, with this configuration, the controller itself waits for its APIs. nil: it never does.
	waits func(config *v1alpha1.ControllersConfiguration) bool
	// needs are permissions that not every installation grants, with this configuration; it waits for them, and the others do
	// not. nil: none.
	needs func(config *v1alpha1.ControllersConfiguration) *grant
	// cache restricts what the shared cache holds of some kinds, for every controller, with this configuration. nil: nothing.
	cache func(config *v1alpha1.ControllersConfiguration) (restrictions, error)
	// own is an additional cache of this controller, or nil.
	own *ownCache
	// whole is what the shared cache has all of for this controller, so that others can follow it there. nil: nothing.
	whole *resourcewatch.Cached
	// add puts it into the manager. nil: it does not run there (run starts it).
	add addFunc
}

// restrictions are what a cache holds of some kinds.
type restrictions = map[client.Object]cache.ByObject

// always are restrictions with any configuration.
func always(options func() (restrictions, error)) func(*v1alpha1.ControllersConfiguration) (restrictions, error) {
	return func(*v1alpha1.ControllersConfiguration) (restrictions, error) { return options() }
}

// addFunc puts a controller into the manager.
type addFunc func(mgr ctrl.Manager, config *v1alpha1.ControllersConfiguration) error

// names returns the names in the order of the list.
func names(controllers []controller) []string {
	var names []string
	for _, c := range controllers {
		names = append(names, c.name)
	}
	return names
}

// selectEnabled returns the controllers that the list of enabled ones selects: "*" is all of them, a name is
// that one, and a name with a minus in front takes it out. The order stays.
func selectEnabled(controllers []controller, enabled []string) []controller {
	var selected []controller
	for _, c := range controllers {
		if isEnabled(c.name, enabled) {
			selected = append(selected, c)
		}
	}
	return selected
}

// dropOff removes the controllers that the configuration leaves nothing to do, with a log line each.
func dropOff(logger logr.Logger, controllers []controller, config *v1alpha1.ControllersConfiguration) []controller {
	return slices.DeleteFunc(slices.Clone(controllers), func(c controller) bool {
		why := ""
		if c.off != nil {
			why = c.off(config)
		}
		if why != "" {
			logger.Info("Skipped a controller", "controller", c.name, "reason", why)
		}
		return why != ""
	})
}

// isEnabled reports whether the list of enabled controllers selects one.
func isEnabled(name string, enabled []string) bool {
	in := slices.Contains(enabled, "*") || slices.Contains(enabled, name)
	return in && !slices.Contains(enabled, "-"+name)
}

// requiredAPIs returns the group versions the controllers cannot start without, each once.
func requiredAPIs(controllers []controller, config *v1alpha1.ControllersConfiguration) []schema.GroupVersion {
	var apis []schema.GroupVersion
	for _, c := range controllers {
		if c.waits != nil && c.waits(config) {
			continue
		}
		for _, api := range c.apis {
			if !slices.Contains(apis, api) {
				apis = append(apis, api)
			}
		}
	}
	return apis
}

// addControllers adds the controllers to the manager. Each reports to readiness when its caches have synced.
func addControllers(mgr ctrl.Manager, controllers []controller, config *v1alpha1.ControllersConfiguration, ready *readiness) error {
	for _, c := range controllers {
		if c.add == nil {
			continue
		}
		if err := c.add(ready.watch(mgr, c.name), config); err != nil {
			return fmt.Errorf("controller %s: %w", c.name, err)
		}
	}
	return nil
}

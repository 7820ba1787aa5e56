// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"maps"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// zoneHints keeps of hints those for zones, nil when there are none.
func zoneHints(hints *discoveryv1.EndpointHints) *discoveryv1.EndpointHints {
	if hints == nil || len(hints.ForZones) == 0 {
		return nil
	}
	return &discoveryv1.EndpointHints{ForZones: hints.ForZones}
}

// WithoutZones takes zones and hints from endpoints.
func WithoutZones(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	for i := range endpoints {
		endpoints[i].Zone, endpoints[i].Hints = nil, nil
	}
	return endpoints
}

// ShortenZones replaces the names of zones in a slice by numbers, and adds for each number an annotation with the name: caches
// keep slices as bytes, in which the zone of an endpoint and its hints take more room than all else, and a slice has few zones. Nothing
// that the slice shares with others but the array of its endpoints is changed.
func ShortenZones(slice *discoveryv1.EndpointSlice) {
	numbers := map[string]*string{}
	number := func(zone string) *string {
		if numbers[zone] == nil {
			numbers[zone] = new(strconv.Itoa(len(numbers)))
		}
		return numbers[zone]
	}
	replaceZones(slice.Endpoints, number)
	if len(numbers) == 0 {
		return
	}
	annotations := make(map[string]string, len(numbers)+len(slice.Annotations))
	maps.Copy(annotations, slice.Annotations)
	for zone, number := range numbers {
		annotations[*number] = zone
	}
	slice.Annotations = annotations
}

// ExpandZones reverses ShortenZones. The endpoints share the names.
func ExpandZones(slice *discoveryv1.EndpointSlice) {
	names := map[string]*string{}
	for key, zone := range slice.Annotations {
		if _, err := strconv.Atoi(key); err == nil {
			names[key] = &zone
			delete(slice.Annotations, key)
		}
	}
	if len(names) == 0 {
		return
	}
	if len(slice.Annotations) == 0 {
		slice.Annotations = nil
	}
	replaceZones(slice.Endpoints, func(number string) *string { return names[number] })
}

// replaceZones replaces the names of zones in endpoints.
func replaceZones(endpoints []discoveryv1.Endpoint, by func(string) *string) {
	for i := range endpoints {
		endpoint := &endpoints[i]
		if endpoint.Zone != nil {
			endpoint.Zone = by(*endpoint.Zone)
		}
		if endpoint.Hints == nil {
			continue
		}
		replaced := &discoveryv1.EndpointHints{ForZones: make([]discoveryv1.ForZone, 0, len(endpoint.Hints.ForZones))}
		for _, zone := range endpoint.Hints.ForZones {
			replaced.ForZones = append(replaced.ForZones, discoveryv1.ForZone{Name: *by(zone.Name)})
		}
		endpoint.Hints = replaced
	}
}

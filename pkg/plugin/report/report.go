// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package report decides what is worth reporting about an object (findings.go, details.go), and has the data that the commands of
// "kubectl groundskeeper" which only read print as JSON or YAML, and that the console shows.
package report

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Level is who has to act on a finding.
type Level string

// Levels of findings.
const (
	// Warning means that a user has to act.
	Warning Level = "Warning"
	// InProgress means that a controller is working, and no user has to act.
	InProgress Level = "InProgress"
	// Info is what is worth knowing about an object that is ok, and does not change that.
	Info Level = "Info"
)

// Rank orders levels by their importance. That of "", which is no finding, is the lowest.
func (l Level) Rank() int { return slices.Index([]Level{Info, InProgress, Warning}, l) }

// Worst returns the most important level of findings, "" without any.
func Worst(findings []Finding) (worst Level) {
	for i := range findings {
		if findings[i].Level.Rank() > worst.Rank() {
			worst = findings[i].Level
		}
	}
	return worst
}

// OK reports whether there is nothing to wait for and nothing to do.
func OK(findings []Finding) bool { return Worst(findings).Rank() <= Info.Rank() }

// Report is what the commands print that only read. As JSON or YAML it is for programs: fields may be added.
type Report struct {
	// Checked are the kinds or parts that were checked.
	Checked []Checked `json:"checked"`
	// Findings are what is worth reporting.
	Findings []Finding `json:"findings"`
	// Project is the one that a namespace belongs to.
	Project string `json:"project,omitempty"`
	// Ways are how connections to a Service go through the backend network.
	Ways []Way `json:"ways,omitempty"`
	// Ports are where a Pod or a Node is in the backend network.
	Ports []WayEnd `json:"ports,omitempty"`
	// NotChecked is what may be wrong nevertheless.
	NotChecked string `json:"notChecked,omitempty"`
}

// Way is that of connections to an address of a Service.
type Way struct {
	// Address is the address and the port, Protocol for instance tcp.
	Address  string `json:"address"`
	Protocol string `json:"protocol"`
	// LoadBalancer is the one that distributes connections to the endpoints.
	LoadBalancer string   `json:"loadBalancer"`
	Endpoints    []WayEnd `json:"endpoints"`
}

// WayEnd is an endpoint of a Service, a Pod or a Node. Of an endpoint that is no Pod's, only the address is known.
type WayEnd struct {
	// Address is the address, of an endpoint with the port; of a Pod or a Node, its addresses.
	Address string `json:"address"`
	// Object has the address, for instance Pod shop/web-0.
	Object string `json:"object,omitempty"`
	// Port is the logical port of the object, Switch the one that it is on, Chassis where the object runs.
	Port    string `json:"port,omitempty"`
	Switch  string `json:"switch,omitempty"`
	Chassis string `json:"chassis,omitempty"`
	// Realized is the status of that condition, "" if it is not known. Problem is why the network has not applied the port.
	Realized string `json:"realized,omitempty"`
	Problem  string `json:"problem,omitempty"`
	// IngressPolicies and EgressPolicies are the NetworkPolicies that isolate the Pod, by name: connections to it, or from it, are dropped
	// unless one of them allows them.
	IngressPolicies []string `json:"ingressPolicies,omitempty"`
	EgressPolicies  []string `json:"egressPolicies,omitempty"`
}

// Checked is a kind of object, or a part of the installation.
type Checked struct {
	Name string `json:"name"`
	// Count is the number of objects.
	Count int `json:"count"`
	// Problem is why it could not be checked, "" when it was.
	Problem string `json:"problem,omitempty"`
	// Unread is what the user may not read of a part, or what did not respond, and which decides nothing: other checks show whether the
	// installation works.
	Unread string `json:"unread,omitempty"`
	// Note is what is worth knowing about a part that works.
	Note string `json:"note,omitempty"`
}

// Finding is something about an object that is not as usual.
type Finding struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Level     Level  `json:"level"`
	Message   string `json:"message"`
}

// Found returns a finding, in one line, whose object is added by Add.
func Found(level Level, format string, args ...any) Finding {
	return Finding{Level: level, Message: OneLine(fmt.Sprintf(format, args...))}
}

// About returns findings as those about an object.
func About(kind string, object client.Object, findings []Finding) []Finding {
	for i := range findings {
		findings[i].Kind, findings[i].Namespace, findings[i].Name = kind, object.GetNamespace(), object.GetName()
	}
	return findings
}

// Add adds findings about an object.
func (r *Report) Add(kind string, object client.Object, findings ...Finding) {
	r.Findings = append(r.Findings, About(kind, object, findings)...)
}

// Name returns the name of an object with its namespace, if it has one.
func Name(namespace, name string) string { return strings.TrimPrefix(namespace+"/"+name, "/") }

// OneLine returns a text without line breaks and double spaces.
func OneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/tools/cache"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/membership"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// moment is the state of all Projects at a version.
type moment struct {
	version  string
	projects map[string]*gardenerv1beta1.Project
}

// pageToken is a token that a user received with the page before it.
type pageToken struct {
	token, after string
	at           moment
}

// pastModel is a model of a server that has written Projects one by one.
type pastModel struct {
	*model
	members
	moments []moment
	tokens  []pageToken
}

// write makes one random change.
func (p *pastModel) write(t *testing.T) {
	t.Helper()
	name := fmt.Sprint("p", p.random.IntN(4))
	project, found := p.last().projects[name]
	switch {
	case !found:
		owner, with := p.spec()
		p.create(t, name)
		p.record(t)
		if err := p.change(t, "root", name, func(created *gardenerv1beta1.Project) {
			created.Spec.Owner, created.Spec.Members = owner, with
		}); err != nil {
			t.Fatal(err)
		}
	case project.DeletionTimestamp != nil:
		if err := p.change(t, "root", name, func(project *gardenerv1beta1.Project) { project.Finalizers = nil }); err != nil {
			t.Fatal(err)
		}
	case p.random.IntN(6) == 0:
		if _, _, err := p.Delete(request(t, "root", "delete", name), name, nil, &metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	default:
		p.set(t, p.members, name)
	}
	p.record(t)
}

func (p *pastModel) last() moment { return p.moments[len(p.moments)-1] }

// record records the present state.
func (p *pastModel) record(t *testing.T) {
	t.Helper()
	_, list := p.listed(t, "root", nil)
	now := moment{list.ResourceVersion, map[string]*gardenerv1beta1.Project{}}
	for i := range list.Items {
		now.projects[list.Items[i].Name] = &list.Items[i]
	}
	p.moments = append(p.moments, now)
}

// regroup gives a random user random groups. What the user was allowed to read with others is not what the user may read now.
func (p *pastModel) regroup() {
	groups := []string{"staff", "anna", "x", "y"}
	p.random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	who := p.users[p.random.IntN(len(p.users))]
	who.Groups = slices.Insert(groups[:p.random.IntN(len(groups))], 0, user.AllAuthenticated)
}

// reads reports whether a user may get a Project at a moment.
func (at moment) reads(who user.Info, project *gardenerv1beta1.Project) bool {
	same := project != nil && at.projects[project.Name] != nil && at.projects[project.Name].UID == project.UID
	return same && membership.Allows(at.projects[project.Name], who, "get")
}

// list returns what a list of a moment has: names in their order, or that it has expired.
func (p *pastModel) list(at moment, who user.Info, after string, limit int) string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(at.projects)) {
		if name > after && at.reads(who, at.projects[name]) && (limit == 0 || len(names) < limit) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if !p.last().reads(who, at.projects[name]) {
			return "410"
		}
	}
	return fmt.Sprint(names)
}

// events returns what a watch from a moment has until now.
func (p *pastModel) events(from int, who user.Info) []string {
	var events []string
	for i := from + 1; i < len(p.moments); i++ {
		before, after := p.moments[i-1], p.moments[i]
		names := maps.Clone(before.projects)
		maps.Copy(names, after.projects)
		for name := range names {
			old, next := before.projects[name], after.projects[name]
			if old != nil && next != nil && old.ResourceVersion == next.ResourceVersion {
				continue
			}
			was, is := before.reads(who, old), after.reads(who, next)
			kind, project := watch.Modified, next
			switch {
			case !was && !is:
				continue
			case !was:
				kind = watch.Added
			case !is:
				kind, project = watch.Deleted, old
			}
			if !p.last().reads(who, project) {
				return append(events, "410")
			}
			events = append(events, string(kind)+" "+name)
		}
	}
	return events
}

// outcomeOf returns the names in a list of a user, or that it has expired.
func (p *pastModel) outcomeOf(t *testing.T, who *user.DefaultInfo, options *internalversion.ListOptions) string {
	t.Helper()
	if p.members.last(t, options, who.Name, who.Groups...) == "410" {
		return "410"
	}
	names, _ := p.listed(t, who.Name, options, who.Groups...)
	return fmt.Sprint(names)
}

// compare compares all ways to read an earlier state with the model, for every user.
func (p *pastModel) compare(t *testing.T) {
	t.Helper()
	for _, who := range p.users {
		from := max(0, len(p.moments)-1-p.random.IntN(30)) // the watch cache has at least 100 changes
		at := p.moments[from]
		for way, options := range past(at.version) {
			if got, want := p.outcomeOf(t, who, options), p.list(at, who, "", 0); got != want {
				t.Errorf("%s %q lists %s of %s: got %s, want %s", who.Name, who.Groups, way, at.version, got, want)
			}
		}
		for _, page := range p.tokens {
			options := &internalversion.ListOptions{Limit: 1, Continue: page.token}
			if got, want := p.outcomeOf(t, who, options), p.list(page.at, who, page.after, 1); got != want {
				t.Errorf("%s %q continues %s after %s: got %s, want %s", who.Name, who.Groups, page.at.version, page.after, got, want)
			}
		}
		want := p.events(from, who)
		got := p.take(t, who, at.version, len(want))
		if !slices.Equal(got, want) {
			t.Errorf("%s %q watches from %s: got %q, want %q", who.Name, who.Groups, at.version, got, want)
		}
		if names, list := p.listed(t, who.Name, &internalversion.ListOptions{Limit: 1}, who.Groups...); list.Continue != "" {
			p.tokens = append(p.tokens[max(0, len(p.tokens)-3):], pageToken{list.Continue, names[0], p.last()})
		}
	}
}

// take returns the first events of a watch from a version.
func (p *pastModel) take(t *testing.T, who *user.DefaultInfo, version string, n int) []string {
	t.Helper()
	return outcomes(t, n, func() (watch.Interface, error) {
		return p.Watch(request(t, who.Name, "watch", "", who.Groups...), &internalversion.ListOptions{ResourceVersion: version})
	})
}

// Random Projects are changed, deleted and created again, and users change their groups: lists of earlier versions, pages of earlier
// tokens and watches from earlier versions have what was readable then and is readable now, or have expired.
func TestPastAgreesWithModel(t *testing.T) {
	for name, option := range map[string]func(*Options){
		"watch cache": func(*Options) {}, "etcd": func(o *Options) { o.Etcd.EnableWatchCache = false },
	} {
		t.Run(name, func(t *testing.T) {
			p := &pastModel{model: newModel(t), members: newMembers(t, option)}
			p.record(t)
			for range soaktest.Rounds(t, 6) {
				for range 8 {
					p.write(t)
				}
				p.regroup()
				p.compare(t)
			}
		})
	}
}

// An informer whose watches end at any time, and which continues each at the version that it has, has what its user may get.
func TestInformersAgreeWithModel(t *testing.T) {
	p := &pastModel{model: newModel(t), members: newMembers(t)}
	p.record(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stores, interrupts := map[string]cache.Store{}, make(chan chan struct{}, 100)
	for _, who := range p.users {
		source := interrupted{p.members, who, interrupts}
		store := cache.NewStore(cache.MetaNamespaceKeyFunc)
		stores[who.Name] = store
		go cache.NewReflectorWithOptions(source.listWatch(t), &gardenerv1beta1.Project{}, store, cache.ReflectorOptions{}).RunWithContext(ctx)
	}
	for range soaktest.Rounds(t, 6) {
		for range 8 {
			p.write(t)
		}
		for done := false; !done; { // the watches continue in the middle of the changes
			select {
			case interrupt := <-interrupts:
				close(interrupt)
			default:
				done = true
			}
		}
		for range 3 {
			p.write(t)
		}
		for _, who := range p.users {
			want := p.list(p.last(), who, "", 0)
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				got := stores[who.Name].ListKeys()
				slices.Sort(got)
				if fmt.Sprint(got) == want {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("the informer of %s has %q, want %s", who.Name, got, want)
				}
			}
		}
	}
}

// interrupted lists and watches as a user. Each watch can be interrupted by the channel that it sends.
type interrupted struct {
	on         members
	who        *user.DefaultInfo
	interrupts chan<- chan struct{}
}

func (i interrupted) listWatch(t *testing.T) *cache.ListWatch {
	to := func(ctx context.Context, verb string) context.Context {
		made := request(t, i.who.Name, verb, "", i.who.Groups...)
		return contextOf{Context: ctx, values: made}
	}
	convert := func(options metav1.ListOptions) *internalversion.ListOptions {
		converted := &internalversion.ListOptions{}
		if err := internalversion.Convert_v1_ListOptions_To_internalversion_ListOptions(&options, converted, nil); err != nil {
			panic(err)
		}
		return converted
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return i.on.List(to(ctx, "list"), convert(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			w, err := i.on.Watch(to(ctx, "watch"), convert(options))
			if err != nil {
				return nil, err
			}
			interrupt := make(chan struct{})
			select {
			case i.interrupts <- interrupt:
			default:
			}
			go func() {
				select {
				case <-interrupt:
				case <-ctx.Done():
				}
				w.Stop()
			}()
			return unshared(w), nil
		},
	}
}

// contextOf ends as one context and has the values of another.
type contextOf struct {
	context.Context
	values context.Context
}

func (c contextOf) Value(key any) any { return c.values.Value(key) }

// unshared returns a watch of decoded objects, as a client has: those that the server sends to several watches are encoded once.
func unshared(w watch.Interface) watch.Interface {
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if shared, ok := event.Object.(runtime.CacheableObject); ok {
			event.Object = shared.GetObject()
		}
		return event, true
	})
}

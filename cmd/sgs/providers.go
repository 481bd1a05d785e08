package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/starlarkgs/starlarkgs/runtime"
)

// providerFlags are the flags of a native session.
type providerFlags struct {
	options, settings []string
	fallback          bool
}

func (f *providerFlags) register(c *cobra.Command) {
	c.Flags().StringArrayVar(&f.options, "provider-option", nil, "an option of an execution provider, PROVIDER.KEY=VALUE (repeatable)")
	c.Flags().StringArrayVar(&f.settings, "session-option", nil, "an option of the native session, NAME=VALUE: optimization, threads, deterministic, …, or an entry of ONNX Runtime's configuration (repeatable)")
	c.Flags().BoolVar(&f.fallback, "provider-fallback", false, "go on with a warning, on the CPU, when a provider can't be used or ran no node")
}

// set adds what the flags say to the options of a session on providers. Options of
// providers that are not chosen are left out: see unused.
func (f *providerFlags) set(a *app, o *runtime.Options) error {
	o.ProviderOptions, o.Settings = map[string]map[string]string{}, map[string]string{}
	for _, text := range f.options {
		provider, key, value, err := splitOption(text)
		if err != nil {
			return err
		}
		if !chosen(provider, o.Providers) {
			continue
		}
		if o.ProviderOptions[provider] == nil {
			o.ProviderOptions[provider] = map[string]string{}
		}
		o.ProviderOptions[provider][key] = value
	}
	for _, text := range f.settings {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return usagef("--session-option: got %q, want NAME=VALUE", text)
		}
		o.Settings[name] = value
	}
	if f.fallback {
		o.Fallback = func(why string) { fmt.Fprintf(a.stderr, "sgs: warning: %s\n", printable(why)) }
	}
	return nil
}

func splitOption(text string) (provider, key, value string, err error) {
	name, value, ok := strings.Cut(text, "=")
	provider, key, dotted := strings.Cut(name, ".")
	if !ok || !dotted || provider == "" || key == "" {
		return "", "", "", usagef("--provider-option: got %q, want PROVIDER.KEY=VALUE", text)
	}
	return provider, key, value, nil
}

func chosen(provider string, providers []string) bool {
	for _, p := range providers {
		if runtime.IsProvider(p, provider) {
			return true
		}
	}
	return false
}

// unused refuses options of providers that none of the sessions has.
func (f *providerFlags) unused(providers []string) error {
	o := runtime.Options{Providers: providers, ProviderOptions: map[string]map[string]string{}}
	for _, text := range f.options {
		provider, _, _, err := splitOption(text)
		if err != nil {
			return err
		}
		o.ProviderOptions[provider] = nil
	}
	return backendStatus(runtime.CheckProviderOptions(o))
}

// placement is which provider ran which nodes, or nil on a backend that has none.
func placement(s runtime.Session) (*runtime.Profile, error) {
	p, ok := s.(runtime.Profiled)
	if !ok {
		return nil, nil
	}
	profile, err := p.Profile()
	return profile, backendStatus(err)
}

// showPlacement prints how many nodes, and which, ran on each provider: their
// operators, and with -v their names.
func (a *app) showPlacement(label string, p *runtime.Profile) {
	if p == nil {
		return
	}
	fmt.Fprintf(a.stdout, "%s: %s\n", label, p.PlacementText())
	for _, g := range p.Placement() {
		fmt.Fprintf(a.stdout, "  %s: %s\n", clean(g.Provider), clean(g.Ops()))
		if a.verbose == 0 {
			continue
		}
		for _, n := range g.Nodes {
			fmt.Fprintf(a.stdout, "    %s %s\n", clean(n.Op), clean(n.Name))
		}
	}
}

// nativeOptions gives each side the flags of native sessions, which must be for one
// of them.
func (f *compareFlags) nativeOptions(a *app, sides [2]*side) error {
	var providers []string
	for _, s := range sides {
		providers = append(providers, s.providers...)
	}
	if err := f.native.unused(providers); err != nil {
		return err
	}
	for _, s := range sides {
		if s.saved != nil {
			continue
		}
		s.native.Providers = s.providers
		if err := f.native.set(a, &s.native); err != nil {
			return err
		}
		if s.backend.Name() == "reference" { // settings are for the other side
			s.native.Settings = nil
		}
	}
	return nil
}

// place notes which provider ran which nodes on either side.
func (r *comparison) place(sides [2]*side) {
	for i, to := range []*[]runtime.Placed{&r.PlacementA, &r.PlacementB} {
		if p := sides[i].profile; p != nil {
			r.profiles[i], *to = p, p.Placement()
		}
	}
}

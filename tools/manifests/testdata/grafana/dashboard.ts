// What deploy/monitoring/dashboard.json is to be, in the types of @grafana/schema: README.md
// says how a JSON schema is made of it.
import type { Dashboard, Panel, RowPanel, FieldConfig } from './node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type { Options as StatOptions } from './node_modules/@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type { Options as TimeOptions, FieldConfig as TimeFieldConfig } from './node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';

// Grafana's own type of a panel leaves open what depends on the kind of the panel.
interface Shown<T extends string, O, C> extends Omit<Panel, 'type' | 'options' | 'fieldConfig'> {
  type: T;
  options?: Partial<O>;
  fieldConfig?: {
    defaults: Omit<FieldConfig, 'custom'> & { custom?: Partial<C> };
    overrides: Array<{ matcher: { id: string; options?: any }; properties: Array<{ id: string; value?: any }> }>;
  };
}

export interface HoldfastDashboard extends Omit<Dashboard, 'panels'> {
  panels: Array<Shown<'stat', StatOptions, {}> | Shown<'timeseries', TimeOptions, TimeFieldConfig> | RowPanel>;
}

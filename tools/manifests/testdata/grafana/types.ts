import type { Dashboard, Panel, RowPanel, FieldConfig } from './node_modules/@grafana/schema/dist/types/raw/dashboard/x/types.gen';
import type { Options as StatOptions } from './node_modules/@grafana/schema/dist/types/raw/composable/stat/panelcfg/x/types.gen';
import type { Options as TimeOptions, FieldConfig as TimeFieldConfig } from './node_modules/@grafana/schema/dist/types/raw/composable/timeseries/panelcfg/x/types.gen';

import type { Dataquery } from './package/dist/prometheus/types.gen';

interface Shown<T extends string, O, C> extends Omit<Panel, 'type' | 'options' | 'fieldConfig' | 'targets'> {
  type: T;
  targets: Array<Omit<Dataquery, '_implementsDataqueryVariant'>>;
  options?: Partial<O>;
  fieldConfig?: {
    defaults: Omit<FieldConfig, 'custom'> & { custom?: Partial<C> };
    overrides: Array<{ matcher: { id: string; options?: any }; properties: Array<{ id: string; value?: any }> }>;
  };
}

export interface HoldfastDashboard extends Omit<Dashboard, 'panels'> {
  panels: Array<Shown<'stat', StatOptions, {}> | Shown<'timeseries', TimeOptions, TimeFieldConfig> | RowPanel>;
}

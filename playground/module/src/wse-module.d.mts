declare const factory: unknown;
export default factory;

import { defineConfig } from 'vite';

// Two files with fixed names: tempo-web embeds them.
export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'built',
    target: 'es2022',
    cssCodeSplit: false,
    modulePreload: false,
    rollupOptions: {
      input: 'source/main.tsx',
      output: { entryFileNames: 'app.js', assetFileNames: 'app[extname]' },
    },
  },
});
